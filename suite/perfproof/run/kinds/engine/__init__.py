"""Trials that count: an engine in a process of its own goes through features, and what it counted becomes numbers and a table.

Nothing here is timed, and nothing waits for a quiet machine.
"""
