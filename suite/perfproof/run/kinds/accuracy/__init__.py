"""Answers that are scored: lm_eval runs the same tasks on every arm, through its server or offline in its build.

`perfproof.importers` reads its samples files; `perfproof.analysis` judges them.
"""
