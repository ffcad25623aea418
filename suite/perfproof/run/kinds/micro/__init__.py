"""Microbenchmarks: trials forked from a parent that has only imported, and what their rounds say.

The benchmarks themselves are in `perfproof.bench`, and what runs inside the interpreter is `perfproof/child/micro.py`.
"""
