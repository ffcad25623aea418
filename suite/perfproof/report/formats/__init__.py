"""The forms other than the page: terminal, pull-request comment, JUnit, markdown, a gate's decision; and the page's templates.

They lay out the words that are there and make none of their own.
"""
