"""A room for each kind of workload: how its trials run, and how what they leave is read.

Kinds know nothing of each other; what two of them need lies in the rooms below.
"""
