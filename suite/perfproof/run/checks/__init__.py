"""What can be known before anything starts: benchmarks and patches there are, arms that compare nothing, trials that are there already.

Nothing here starts a server or a trial; vLLM's own tests are the one thing run, in the builds as they are.
"""
