"""Reads users' files: their schema, all their faults in words, and their conversion to nouns.

`decode` is the entry point. Only the documents here and in `kinds` use pydantic, and no other room reads a user's scenario or policy.
"""
