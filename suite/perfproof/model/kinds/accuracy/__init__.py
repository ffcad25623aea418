"""Answers that are scored: tasks of lm_eval that every arm answers, and their schema.

`task_folder` reads a folder of tasks that a scenario names.
"""
