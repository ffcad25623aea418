"""Facts for a page, out of records: what ran, what the machine did, what its A/A runs say, throughput against latency.

Nothing is judged here and no sentence of an answer is made; texts are clean when they leave this room.
"""
