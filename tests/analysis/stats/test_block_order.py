"""The order of trials: balanced, random, and wholly the seed's."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.analysis.stats.block_order import orders

ARMS = ["as released", "patched", "overlay", "older"]


@given(st.integers(2, 4), st.integers(0, 30), st.integers(0, 2**40))
def test_every_block_runs_every_arm_once_and_each_second_reverses_the_first(arms: int, blocks: int, seed: int) -> None:
    """Each block is a permutation of the arms, and every second block runs them in the reverse order of the one before."""
    found = orders(ARMS[:arms], blocks, seed)
    assert len(found) == blocks
    assert all(sorted(order) == sorted(ARMS[:arms]) for order in found)
    assert all(later == earlier[::-1] for earlier, later in zip(found[::2], found[1::2], strict=False))


@given(st.integers(2, 4), st.integers(1, 12), st.integers(0, 2**40))
def test_after_an_even_number_of_blocks_each_arm_was_before_each_other_equally_often(arms: int, pairs: int, seed: int) -> None:
    """At every look (all even), every arm has preceded every other in exactly half of the blocks."""
    before: Counter[tuple[str, str]] = Counter()
    for order in orders(ARMS[:arms], 2 * pairs, seed):
        before.update((a, b) for i, a in enumerate(order) for b in order[i + 1 :])
    assert set(before.values()) == {pairs}


def test_the_same_seed_gives_the_same_orders_and_more_blocks_only_add_to_them() -> None:
    """Orders depend on seed and name alone, so that a resumed run goes on where it stopped."""
    assert orders(ARMS[:2], 24, 7)[:10] == orders(ARMS[:2], 10, 7)
    assert orders(ARMS[:2], 40, 7) != orders(ARMS[:2], 40, 8)
    assert orders(ARMS[:2], 40, 7, "a") != orders(ARMS[:2], 40, 7, "b")


def test_a_linear_drift_cancels_in_the_mean_of_a_pair_of_blocks() -> None:
    """With a drift of the same size per trial, the mean difference of two arms over a pair of blocks is that drift's zero."""
    time, found = 0, []
    for order in orders(ARMS[:2], 10, 3):
        at = {arm: time + place for place, arm in enumerate(order)}
        found.append(at["patched"] - at["as released"])
        time += 2
    assert np.mean(found) == 0


def test_either_arm_goes_first_by_chance() -> None:
    """Over many seeds, the first block begins with the baseline half of the time."""
    first = sum(orders(ARMS[:2], 1, seed)[0][0] == ARMS[0] for seed in range(1000))
    assert 430 < first < 570


def test_a_design_of_one_arm_or_of_twins_is_refused() -> None:
    """One arm, or two of the same name, cannot be compared."""
    for arms in (["a"], ["a", "a"], []):
        with pytest.raises(ValueError, match="two arms"):
            orders(arms, 6, 0)
