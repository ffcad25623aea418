"""Shares of a change: the ratio of two means, its interval, and when it is known well enough."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfproof.analysis.stats.share_interval import Share, settled, share


def test_the_interval_holds_the_share_as_often_as_it_says() -> None:
    """Of 4,000 simulated shares 97 to 99.9 % lie in their interval of 98 %, for small and for whole shares."""
    draw = np.random.default_rng(27)
    for true in (0.0, 0.3, 1.0):
        inside = 0
        for _ in range(4_000):
            found = share(draw.normal(0.1 * true, 0.02, 6), draw.normal(0.1, 0.02, 10), 0.98)
            inside += found.low <= true <= found.high
        assert 0.97 <= inside / 4_000 <= 0.999


def test_a_share_without_noise_is_exact() -> None:
    """Equal blocks leave no width; the sign of the whole does not matter."""
    found = share(np.full(6, -0.05), np.full(6, -0.2), 0.995)
    assert (found.value, found.blocks) == (pytest.approx(0.25), 6)
    assert found.low == pytest.approx(0.25) == found.high


def test_without_a_whole_change_nothing_is_known() -> None:
    """A whole change that may be none bounds no share."""
    found = share(np.array([0.1, 0.11, 0.1]), np.array([0.1, -0.1, 0.02]), 0.98)
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert settled(found, 0.5) is None


@pytest.mark.parametrize(("part", "whole"), [([0.1], [0.1, 0.2]), ([0.1, 0.2], [0.1]), ([0.1, 0.2], [0.0, 0.0])])
def test_what_has_no_share_is_refused(part: list[float], whole: list[float]) -> None:
    """One block of either, or no change at all."""
    with pytest.raises(ValueError, match="share"):
        share(np.array(part), np.array(whole), 0.98)


@pytest.mark.parametrize(
    ("low", "high", "least", "expected"),
    [
        (-0.3, 0.4, 0.5, 0.0),
        (0.55, 1.3, 0.5, 1.0),
        (0.4, 0.8, 0.5, 0.6),
        (0.2, 0.9, 0.5, None),
        (-0.3, 0.4, 0.25, None),
        (-0.2, 0.2, 0.25, 0.0),
        (0.3, 0.5, 0.25, 0.4),
        (0.78, 1.2, 0.25, 1.0),
    ],
)
def test_a_share_is_settled_as_soon_as_it_is_known_well_enough(low: float, high: float, least: float, expected: float | None) -> None:
    """All or nothing once the interval lies around it, a number in between once the interval is narrow."""
    found = settled(Share(value=(low + high) / 2, low=low, high=high, blocks=6), least)
    assert found == (expected if expected is None else pytest.approx(expected))
