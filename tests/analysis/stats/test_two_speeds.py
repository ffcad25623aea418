"""Trials at two speeds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.analysis.stats.two_speeds import two_speeds


def test_two_groups_with_nothing_between_them_are_told_apart() -> None:
    """Four trials near 2.2 ms and two at 4.14 ms, as a GPU's pooling step had them, are two speeds."""
    found = two_speeds([2.074, 2.163, 4.147, 2.208, 2.361, 4.139])
    assert found is not None
    assert [round(each, 2) for each in found] == [2.2, 4.14]


@pytest.mark.parametrize(
    "values",
    [
        [4.558, 4.957, 5.364, 6.792, 7.237, 8.522],
        [8454, 8699, 8759, 8998, 9032, 9139],
        [22.36, 22.43, 23.21, 23.53, 25.14, 35.92],
        [1.0, 1.0, 2.0, 2.0],
        [0.0, 0.0, 1.0, 1.0, 1.0],
        [],
    ],
    ids=["spread out", "one speed", "one outlier", "too few", "not positive", "none"],
)
def test_anything_else_is_not(values: list[float]) -> None:
    """Values that are spread out, a single outlier, and too few values are no two speeds."""
    assert two_speeds(values) is None


@given(st.lists(st.floats(0.95, 1.05), min_size=2, max_size=9), st.lists(st.floats(0.95, 1.05), min_size=3, max_size=9), st.floats(1.7, 50))
def test_a_gap_is_found_wherever_it_lies_and_however_it_is_scaled(low: list[float], high: list[float], apart: float) -> None:
    """Two groups of a tenth's width are found at any distance, in any order and unit, the lower first."""
    values = [*low, *(value * apart for value in high)]
    found = two_speeds(values[::-1])
    assert found is not None
    assert found[0] < found[1]
    again = two_speeds([1000 * value for value in values])
    assert again is not None
    assert again == pytest.approx([1000 * value for value in found])
