"""A sample earns a verdict with its reason in words: by time, by exact counts, by rates of error, by the items of an evaluation.

Nothing here chooses which trials count (`trials` does) or what fails a gate (`judging` does).
"""
