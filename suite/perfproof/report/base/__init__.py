"""The nouns of a page, and how its numbers, units and verdicts are written.

This room makes no sentence about an answer and reads no record.
"""
