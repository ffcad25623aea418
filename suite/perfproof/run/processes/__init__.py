"""The processes of trials: their environment and variables, their attestation, and their temporary folders.

Nothing here knows a kind of workload, a server or the machine's load.
"""
