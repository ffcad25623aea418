"""Runs a real vLLM engine in one process through the same steps again and again, and counts its Python work.

`features` lists what can be switched on; `making` makes engines and requests that a release supports; `waves` sends requests through and
counts each phase; `run` is the script.
"""
