"""Starts, watches and ends other programs, places temporary files, and redacts secrets in output.

`supervised_process` is the only module that imports `subprocess`. Nothing here knows what is built or measured.
"""
