"""The range of valid numbers: values outside it are no measurements, whatever their source."""

from __future__ import annotations

from typing import Any

MOST, LEAST = 1e100, 1e-100
"""No measurement is this large, or this small without being 0: other values can't be computed with or drawn."""


def is_number(value: Any) -> bool:
    """Whether it is a number in the valid range: no boolean, no infinite value or NaN."""
    return type(value) in (int, float) and (value == 0 or LEAST <= abs(value) <= MOST)
