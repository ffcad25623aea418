"""Leaving one block out: which one moves the estimate, by how much, and whose value is unusual there."""

from __future__ import annotations

import math

import pytest

from perfproof.analysis.stats.leave_one_out import FEWEST, strongest

BASE = (1.0, 1.001, 0.999, 1.0, 1.002, 0.998)
LESS = tuple(0.7 * value for value in BASE)


def _with(values: tuple[float, ...], place: int, factor: float) -> list[float]:
    return [value * factor if each == place else value for each, value in enumerate(values)]


@pytest.mark.parametrize(("baseline", "factor"), [(True, 2.5), (True, 0.4), (False, 2.5), (False, 0.4)])
def test_the_unusual_block_is_found_with_its_arm(baseline: bool, factor: float) -> None:
    """Whichever arm was slow or fast in a block, that block and arm are named, and the change without it is that of the others."""
    before = _with(BASE, 3, factor) if baseline else list(BASE)
    after = list(LESS) if baseline else _with(LESS, 3, factor)
    found = strongest(before, after, half=0.5, margin=math.log(1.02))
    assert found is not None
    assert (found.place, found.of_baseline, found.larger) == (3, baseline, factor > 1)
    assert found.without == pytest.approx(-0.3, abs=1e-3)


def test_a_small_shift_is_not_told() -> None:
    """A shift within the noise, or of less than two margins, is nothing to speak of; one that carries the estimate over the margin is."""
    shifted = _with(BASE, 0, 1.1)
    assert strongest(shifted, LESS, half=1.0, margin=0.001) is None
    assert strongest(shifted, LESS, half=0.01, margin=0.02) is None
    assert strongest(_with(BASE, 0, 1.09), [value * 0.99 for value in BASE], half=0.01, margin=0.02) is not None


def test_too_few_blocks_or_nothing_to_compare_say_nothing() -> None:
    """Over fewer blocks than a handful each of them is influential, and without positive values there is no ratio."""
    few = FEWEST - 1
    assert strongest(_with(BASE, 0, 9)[:few], LESS[:few], half=0.0, margin=0.02) is None
    assert strongest([0.0, *BASE[1:]], LESS, half=0.0, margin=0.02) is None
