"""What an install brings, and what a project adds to it: perfproof's own scenarios, a project's `.perfproof`, the optional packages.

Here are paths and names only: other rooms read the files.
"""
