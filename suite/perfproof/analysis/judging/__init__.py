"""The road from the records of a folder to judged metrics, and from these, under a policy, to a decision.

The estimators and rules are in the rooms below; this room puts them in order.
"""
