"""Records become paired samples: which trials may stand beside each other, which are invalid, and which did unequal work.

The rules here were fixed before the run and never look at measured values. This room gives no verdict.
"""
