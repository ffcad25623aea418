"""Runs the trials of a Plan and leaves Records.

Its rooms, from the ground up: `processes`, the processes of trials and their attestation; `host`, the machine: its lock, GPUs, telemetry,
ports, disk; `models`, generated models, texts and data sets; `servers`, servers and their client; `checks`, faults and remaining work
before anything starts; `trials`, what runners of all kinds share; `kinds`, a room for each kind of workload. Nothing here computes a
statistic.
"""
