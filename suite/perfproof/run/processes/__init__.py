"""The processes of trials: their environment and variables, what they attest of themselves, and the folders they need meanwhile.

Nothing here knows a kind of workload, a server or the machine's load.
"""
