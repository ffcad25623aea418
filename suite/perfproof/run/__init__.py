"""A Plan is executed and Records are left.

Its rooms, from the ground up: `processes`, the processes of trials and what they say of themselves; `host`, the machine: its lock, GPUs,
telemetry, ports, disk; `models`, generated models, texts and data sets; `servers`, how a server is launched, watched and asked; `checks`,
what is wrong or left to do before anything starts; `trials`, what runners of every kind share; `kinds`, a room for each kind of workload.
Nothing here computes a statistic.
"""
