"""What is asked: scenarios with their arms and builds, the registry of metrics, and the plan of trials.

No file is read here and no fault of one is told (`documents` does both); nothing here knows what came out.
"""
