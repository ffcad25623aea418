"""What a change costs vLLM's host, counted: both sides, the functions and lines behind a difference, and the words for it.

Counting itself is in `run/trials/engine_counting`, comparing in `analysis/counts`; nothing here is timed.
"""
