"""One function per verb for the command line to call: files come as paths, and the result is an exit code.

These functions call the rooms below in a readable order. They contain no statistics and parse no arguments.
"""
