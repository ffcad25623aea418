"""The sentences of a page: the answer, what stands beside it, what would change it, what is left out, and what words mean.

Each is made once for all forms; nothing here is markup.
"""
