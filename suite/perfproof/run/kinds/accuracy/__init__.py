"""Answers that are scored: lm_eval puts the same tasks to every arm, through its server or offline in its build.

Its samples files are read by `perfproof.importers`, and judged in `perfproof.analysis`.
"""
