"""Blame: from two builds to the functions, and the lines, that bring a change, without a clone."""
