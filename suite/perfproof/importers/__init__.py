"""Foreign formats on their way in: one file or one room a format, each independent of the others.

Nothing here judges, and nothing here knows our own format (`perfproof.store` does).
"""
