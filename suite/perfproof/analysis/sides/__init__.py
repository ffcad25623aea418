"""Two sides of runs that others measured: which of them can be compared, in what order they were measured, and what that allows to be said.

`cases` puts together what was asked alike and names what was not. `measured_order` says from the runs' own dates whether the sides took
turns. `judge_sides` gives a verdict on runs in turns, an unpaired interval and no verdict on runs that were not, and of one run a side the
change alone.
"""
