"""The microbenchmarks: one pytest-benchmark test per file.

They run inside a build's interpreter, and by hand in any environment with vLLM:
`pytest suite/perfproof/bench/swap_states.py`. Nothing here imports the rest of the suite.
"""
