"""The microbenchmarks: one pytest-benchmark test a file.

They run inside a build's interpreter, and by hand wherever vLLM is installed:
`pytest suite/perfproof/bench/swap_states.py`. Nothing here imports the rest of the suite.
"""
