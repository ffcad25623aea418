"""Numbers in words: per cent where per cent says something, multiples beyond."""

from __future__ import annotations

import pytest

from suite.analysis import words


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [(0.0412, "+4.12 %"), (-0.872, "-87.2 %"), (7.92, "+792 %"), (12.7, "× 13.7"), (1371.9, "× 1,373"), (float("inf"), "unbounded")],
)
def test_a_change_from_tenfold_on_is_a_multiple(fraction: float, shown: str) -> None:
    """A change is told in per cent up to tenfold, beyond it as a multiple, so that nobody has to read thousands of per cent."""
    assert words.percent(fraction) == shown


@pytest.mark.parametrize(("fraction", "shown"), [(0.416, "41.6 %"), (1.0, "× 2"), (7.92, "× 8.92"), (12.7, "× 13.7")])
def test_a_size_from_a_doubling_on_is_a_multiple(fraction: float, shown: str) -> None:
    """A size that could or could not have been seen is a multiple from a doubling on."""
    assert words.size(fraction, "log") == shown
    assert words.size(0.0149, "difference") == "1.49 points"
