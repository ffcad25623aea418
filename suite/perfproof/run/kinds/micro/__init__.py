"""Microbenchmarks: trials forked from a parent that has only imported vLLM, and the checks of their rounds.

The benchmarks themselves are in `perfproof.bench`; `perfproof/child/micro.py` runs inside the interpreter.
"""
