"""Container images as builds: which one is meant, and the interpreter that starts a container of it.

Nothing here pulls or builds an image, or knows a kind of workload.
"""
