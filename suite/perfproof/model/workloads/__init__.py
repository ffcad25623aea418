"""What workloads of every kind are made of: the noun, the document and the traits that each kind fills in, models and data sets.

Nothing here knows a kind (`model.kinds` has them all), a scenario, or a record.
"""
