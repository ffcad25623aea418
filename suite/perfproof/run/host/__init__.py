"""The machine: its description in records, GPUs, telemetry, the lock that keeps others out, ports, disk space, and what it can run.

Nothing here starts a trial or names the machine or its user.
"""
