"""Names in a sentence, or lines: the first few, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence


def few(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more` for five names and `most` 2; all of them if there are no more."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def few_lines(lines: Sequence[str], most: int, where: str = "") -> list[str]:
    """The first lines, then `and 3 more` and `where` they are; all of them if there are no more than `most`."""
    return [*lines[:most], *([f"and {len(lines) - most} more{where}"] if len(lines) > most else [])]
