"""The machine: its description in records, GPUs, telemetry, its lock, ports, disk space, and what it can run.

Nothing here starts a trial, and nothing records names of machine or user.
"""
