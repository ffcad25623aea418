"""The first screen of a page: the result, what was changed, the rows of the figure, and the lines on answers, machine, trust and what next.

`lead` puts it together, for the page and the comment. Nothing here is markup.
"""
