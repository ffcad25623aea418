"""Which numbers can be reckoned with: what lies beyond is no measurement, wherever it was read."""

from __future__ import annotations

from typing import Any

MOST, LEAST = 1e100, 1e-100
"""No measurement is this large, or this small without being nought: with what lies beyond nobody can reckon, nor draw it."""


def is_number(value: Any) -> bool:
    """Whether it is a number that can be reckoned with: no truth value, not infinite, not out of this world."""
    return type(value) in (int, float) and (value == 0 or LEAST <= abs(value) <= MOST)
