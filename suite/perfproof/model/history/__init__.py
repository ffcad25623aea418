"""The nouns of a history: points, the settings they were measured in, steps, and known changes of upstream.

Nothing here reads or writes a history's points (`perfproof.history` does) or looks for steps.
"""
