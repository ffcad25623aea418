"""How a change is laid over a build: what git says of it, diffs read and applied exactly, and the overlay that follows.

Nothing is installed here, and a repository is asked about only by way of `safe_git`, for somebody else may have made it.
"""
