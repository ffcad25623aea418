"""Two exact counts of the same work, compared: what differs, how it grows with the output, what share of a step's time it stands for.

Nothing here counts or reads files; verdicts on counts of scenarios are in `verdicts` and `judging`.
"""
