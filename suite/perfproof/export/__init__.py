"""Trials as other tools take them: a format a file, and no verdict that they don't ask for.

`trials` picks the trials that count, and says which don't; `format` is what a format is; each file of `formats` makes the files of one.
Values are in base units (seconds, bytes, tokens), and each file keeps every trial where its format has a place for it. Nothing here opens a
file: `perfproof.commands.export_trials` does.
"""
