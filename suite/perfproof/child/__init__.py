"""Entry scripts that run inside the interpreters under test, or supervise them.

They are started by path. They import the standard library and the interpreter's packages, and nothing else of the suite.
"""
