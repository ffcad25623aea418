"""The sentences of a page: the answer, its caveats, what would refute it, what is left out, and the meaning of words.

Each is made once for all forms. Nothing here is markup.
"""
