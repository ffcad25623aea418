"""Adds a change to a build: the change from git, diffs parsed and applied exactly, and the overlay.

Nothing is installed here. Every call of git goes through `safe_git`, because somebody else may have made the repository.
"""
