"""Names in a sentence: the first few, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence


def few(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more` for five names and `most` 2; all of them if there are no more."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
