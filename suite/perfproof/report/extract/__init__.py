"""Facts for a page, extracted from records: what ran, what the machine did, what its A/A runs show, throughput against latency.

This room judges nothing and makes no sentence of an answer. Texts are clean when they leave it.
"""
