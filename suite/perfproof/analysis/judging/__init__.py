"""The road from the records of a folder to judged metrics, and from these, under a policy, to a decision.

No estimator and no rule is written here: the rooms below have them, this one puts them in order.
"""
