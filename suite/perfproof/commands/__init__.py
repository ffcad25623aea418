"""One function a verb: what the command line calls, with files as paths and the answer as an exit code.

No statistics and no parsing of arguments live here: these functions call the rooms below, in the order in which a reader would tell it.
"""
