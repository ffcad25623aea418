"""Questions: scenarios with their arms and builds, the registry of metrics, and the plan of trials.

Nothing here reads a file or reports its faults (`documents` does both), or knows a result.
"""
