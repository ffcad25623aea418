"""Faults and slowdowns that are planted on purpose, to test that gates catch them; an environment variable chooses one.

Do not use these patches for anything else.
"""
