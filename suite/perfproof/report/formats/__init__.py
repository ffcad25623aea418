"""The forms other than the page: terminal, pull-request comment, JUnit, markdown, a gate's decision; and the page's templates.

They lay out existing words and add none of their own.
"""
