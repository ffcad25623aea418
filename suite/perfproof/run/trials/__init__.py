"""What runners of all kinds share: the runner's interface, a trial from start to end, and its record.

Nothing here knows a kind by name: what differs by kind is in `kinds`.
"""
