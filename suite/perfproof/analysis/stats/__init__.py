"""Statistics on arrays: samples, interval estimates, power, the looks and the error each may spend, the decision rule.

Nothing here knows a record or a scenario's file. The results are numbers, and their form in words.
"""
