"""Answers that are compared bit by bit: prompts that every arm answers, and their schema."""
