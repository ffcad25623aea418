"""The nouns of a page, and how its numbers, units and verdicts are written.

No sentence about an answer is made here, and no record is read.
"""
