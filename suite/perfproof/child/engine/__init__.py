"""A real vLLM engine in one process, put through the same steps again and again while its Python is counted.

`features` is the list of what can be switched on; `making` makes engines and requests as far as a release knows them; `waves` sends
requests through and counts each phase; `run` is the script.
"""
