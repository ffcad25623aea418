"""What a change costs vLLM's host, counted: both sides, the functions and lines behind a difference, and the words for it.

`known_features` says which features call the change and, by `change_places`, which of them come to its new lines; `feature_order` puts
them in turn. Counting itself is in `run/trials/engine_counting`, comparing in `analysis/counts`; nothing here is timed.
"""
