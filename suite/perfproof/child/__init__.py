"""Entry scripts that run inside the interpreters under test, or stand guard over them.

They are started by path, import the standard library and what the interpreter has, and nothing else of the suite.
"""
