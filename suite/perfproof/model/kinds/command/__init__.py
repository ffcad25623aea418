"""Any command line, run on each arm's build: its noun, what a scenario file may say of it, and its files.

What a command prints is read in `run/kinds/command`; nothing here runs anything.
"""
