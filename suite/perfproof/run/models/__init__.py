"""Models and their inputs without a hub: generated models and tokenizers, the suite's own text, data sets from templates.

Nothing here starts a process or knows what is measured.
"""
