"""Runs trials of commands: any command line on an arm's build, and the numbers that it printed.

What a scenario file may say of a command is in `model/kinds/command`.
"""
