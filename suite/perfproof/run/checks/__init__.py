"""Checks before anything starts: the known benchmarks and patches, arms that compare nothing, trials that exist already.

Nothing here starts a server or a trial. Only vLLM's own tests run here, in unchanged builds.
"""
