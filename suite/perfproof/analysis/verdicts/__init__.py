"""A sample earns a verdict with its reason in words: by time, by exact counts, by rates of error, by the items of an evaluation.

The room `trials` chooses which trials count, and `judging` what fails a gate.
"""
