"""Faults and slowdowns that are planted on purpose, to see that gates catch them; an environment variable says which one.

No patch that anybody should use lives here.
"""
