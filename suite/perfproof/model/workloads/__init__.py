"""The common parts of all kinds of workload: the noun, the document and the traits that each kind fills in, models and data sets.

Nothing here knows a particular kind (`model.kinds` has them all), a scenario, or a record.
"""
