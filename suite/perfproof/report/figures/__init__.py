"""The figures of a page: where marks lie, the plots themselves, sparklines for table cells, distributions within trials.

`plots` is the only module that imports matplotlib. Every figure has a table with the same values.
"""
