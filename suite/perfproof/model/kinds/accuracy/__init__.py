"""Answers that are scored: tasks of lm_eval that every arm answers, and what may be said of them.

`task_folder` reads a folder of tasks that a scenario names.
"""
