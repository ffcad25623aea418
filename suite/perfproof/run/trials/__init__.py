"""What runners of every kind share: the runner's interface, a trial from its start to its end, and the record that it leaves.

Nothing here knows one kind from another: what differs by kind is in `kinds`.
"""
