"""The slope of a cost over a known input, block by block."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import theilslopes

from perfproof.analysis.verdicts.paired_slope import block_slope, paired_slope, weighted_median

DELAYS = np.array([0.0, 50.0, 100.0, 200.0, 400.0])
numbers = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.floats(-10, 10), st.lists(numbers, min_size=2, max_size=8))
def test_a_straight_line_gives_its_slope(slope: float, levels: list[float]) -> None:
    """Whatever the level of each block, and without any width."""
    x = np.tile(DELAYS, (len(levels), 1))
    found = paired_slope(x, slope * x + np.array(levels)[:, None])
    assert found.value == pytest.approx(slope, abs=1e-7)
    assert found.low == pytest.approx(slope, abs=1e-6)
    assert found.high == pytest.approx(slope, abs=1e-6)
    assert found.blocks == len(levels)


@given(st.permutations(range(5)), st.lists(numbers, min_size=5, max_size=5))
def test_the_order_within_a_block_does_not_matter(order: list[int], outputs: list[float]) -> None:
    """Trials run in a random order; the slope is of the points."""
    y = np.array(outputs)
    assert block_slope(DELAYS[order], y[order]) == pytest.approx(block_slope(DELAYS, y), rel=1e-9, abs=1e-9)


def test_one_odd_trial_moves_a_block_little() -> None:
    """A trial that took ten times as long, in the middle of the delays, leaves the slope of its block near the truth."""
    y = 0.3 * DELAYS + 1000
    y[2] += 10_000
    assert block_slope(DELAYS, y) == pytest.approx(0.3, abs=0.05)


def test_with_equal_distances_it_is_theil_and_sens() -> None:
    """Weighted by distance it is Sievers'; where all pairs are of one distance both are the same."""
    x, y = np.array([0.0, 1.0]), np.array([3.0, 7.0])
    assert block_slope(x, y) == theilslopes(y, x)[0] == 4.0


@given(st.lists(st.tuples(numbers, st.floats(0.1, 100)), min_size=1, max_size=12))
def test_half_of_the_weight_lies_on_either_side_of_a_weighted_median(pairs: list[tuple[float, float]]) -> None:
    """Neither what is smaller nor what is larger has more than half of it."""
    values, weights = [value for value, _ in pairs], [weight for _, weight in pairs]
    middle, half = weighted_median(values, weights), sum(weights) / 2
    assert sum(weight for value, weight in pairs if value < middle) <= half * (1 + 1e-9)
    assert sum(weight for value, weight in pairs if value > middle) <= half * (1 + 1e-9)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """Over 2,000 runs of six noisy blocks: 95 %, within what chance allows."""
    chance = np.random.default_rng(1)
    x = np.tile(DELAYS, (6, 1))
    hits = 0
    for _ in range(2000):
        y = 0.12 * x + chance.normal(5000, 200, (6, 1)) + chance.normal(0, 20, x.shape)
        found = paired_slope(x, y)
        hits += found.low <= 0.12 <= found.high
    assert 0.935 <= hits / 2000 <= 0.965


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (5,), (2, 2, 2)])
def test_too_few_points_have_no_slope(shape: tuple[int, ...]) -> None:
    """Two blocks of two points are the least."""
    with pytest.raises(ValueError, match="two or more blocks of two or more points"):
        paired_slope(np.zeros(shape), np.zeros(shape))


def test_equal_inputs_have_no_slope() -> None:
    """A block in which nothing was changed says nothing."""
    with pytest.raises(ValueError, match="all inputs of a block are equal"):
        paired_slope(np.ones((2, 3)), np.zeros((2, 3)))
