"""The host as a factor: what a change does on each host, whether hosts differ in it, and the verdict over all of them.

May import `verdicts`, `trials` and `stats`; reads no records itself but for the name of a trial's host.
"""
