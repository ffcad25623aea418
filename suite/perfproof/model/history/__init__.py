"""What is remembered over builds: points, the settings they were measured in, steps, and what upstream is known to have changed.

No file is read or written here (`perfproof.history` does), and no step is looked for.
"""
