"""Answers that are compared: one process per arm answers the same prompts in the same batches.

`perfproof.analysis.equality` judges whether answers differ, not this room.
"""
