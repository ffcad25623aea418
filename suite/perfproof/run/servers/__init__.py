"""How a server and its client are launched, pooled, recognised, watched and asked, and what their logs say when they die.

Nothing here decides what is measured or whether a trial counts: the room of its kind and the attestation do.
"""
