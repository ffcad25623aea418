"""Servers and their client: launched, pooled, identified, watched, and diagnosed by their logs when they die.

Nothing here decides what is measured or whether a trial counts: the room of the kind and the attestation do.
"""
