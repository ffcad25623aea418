"""Common parts of all nouns: errors with their exit codes, the clock, YAML as plain values, numbers and units, safe printing of untrusted
text.

Nothing here knows scenarios, records, verdicts or vLLM.
"""
