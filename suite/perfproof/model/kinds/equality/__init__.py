"""Answers that are compared bit by bit: prompts that every arm answers, and what may be said of them."""
