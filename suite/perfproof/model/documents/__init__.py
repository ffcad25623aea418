"""The door: what a file of a user may say, every fault of it in words, and how it becomes nouns.

`decode` is the way in; the documents here and of `kinds` alone know pydantic, and no other room reads a user's scenario or policy.
"""
