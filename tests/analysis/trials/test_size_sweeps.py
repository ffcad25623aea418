"""Growth of exact counts, and of every metric of a scenario that was measured at several sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from perfproof.analysis.stats.scaling import counted_growth
from perfproof.analysis.trials.size_sweeps import sweeps
from perfproof.model.records.record import Record
from tests.report import factory

SOURCE = np.random.default_rng(11)
SIZES = (1_000, 4_000, 16_000)
FIRST, SECOND = "as released", "patched"


@pytest.mark.parametrize(
    ("counts", "shape", "law"),
    [
        ((2.0, 2.0, 2.0), "constant in output length", "2 at every size"),
        ((0.0, 0.0, 0.0), "constant in output length", "0 at every size"),
        ((17_000.0, 68_000.0, 272_000.0), "linear in output length", "17 × output length"),
        ((25_570.8, 28_570.8, 40_570.8), "linear in output length", "24,570.8 + 1 × output length"),
        ((1e6, 1.6e7, 2.56e8), "growing with output length", "1,000,000 at 1,000, 256,000,000 at 16,000"),
        ((9.0, 6.0, 1.0), "falling with output length", "9 at 1,000, 1 at 16,000"),
    ],
)
def test_the_growth_of_a_count_is_told_exactly(counts: Sequence[float], shape: str, law: str) -> None:
    """A constant and a straight line are told as what they are, with no interval; anything else by its ends."""
    found = counted_growth(SIZES, counts, of="a count", size="output length")
    assert (found.shape, found.interval, found.factor_interval) == (shape, None, None)
    assert found.words == f"a count is {shape}, exactly: {law}"


def test_two_counts_make_no_line() -> None:
    """Through two points there is always a line: they are told by their ends."""
    assert counted_growth((1, 2), (3, 5)).shape == "growing with size"
    assert counted_growth((1, 2), (0, 5)).factor == float("inf")


def test_counts_that_cannot_grow_are_refused() -> None:
    """Two different positive sizes at least, and no negative count."""
    for sizes, counts in (((1, 1), (2, 3)), ((1, 2), (2, -3)), ((0, 2), (2, 3)), ((1, 2), (2,))):
        with pytest.raises(ValueError, match="growth of a count"):
            counted_growth(sizes, counts)


def records(costs: Mapping[str, Mapping[str, float]], witnesses: Mapping[str, Mapping[str, float]], blocks: int = 6) -> list[Record]:
    """Trials of the arms with these typical costs and exact witnesses, 2 % of noise shared by a trial."""
    made = []
    for record in factory.trials("thinking_scan", blocks, {"round_time": 1.0}, {}, 0.01):
        noise = float(np.exp(SOURCE.normal(0, 0.02)))
        measured = {name: value * noise for name, value in costs[record.arm].items()}
        made.append(dataclasses.replace(record, measurements=measured, witnesses=dict(witnesses[record.arm])))
    return made


def at(name: str, costs: Sequence[float]) -> dict[str, float]:
    return {f"{name}@output_length={size}": cost for size, cost in zip(SIZES, costs, strict=True)}


def test_the_claim_sets_the_candidates_growth_against_the_baselines() -> None:
    """A time that was linear and is constant, and the count behind it: told for both, the time with its interval."""
    made = records(
        {FIRST: at("round_time", [1e-6 * size for size in SIZES]), SECOND: at("round_time", [1e-4] * 3)},
        {FIRST: at("tokens_compared_per_step", [size + 6.5 for size in SIZES]), SECOND: at("tokens_compared_per_step", [2.0] * 3)},
    )
    time, count = sweeps((FIRST, SECOND), made)
    assert (time.metric, time.size, time.sizes, time.exact) == ("round_time", "output length", SIZES, False)
    ((arm, claim),) = time.claims
    assert arm == SECOND
    assert claim == f"constant in output length, {FIRST} linear in output length (× 16): exponent −1.00 [−1.00, −1.00]"
    assert count.exact
    assert count.claims == ((SECOND, f"constant in output length, {FIRST} linear in output length (× 15.9)"),)


def test_trials_that_do_not_count_are_in_no_growth() -> None:
    """Invalid trials are left out; an arm with one trial alone has no growth, and then nothing is claimed."""
    costs = {arm: at("round_time", [1.0, 1.0, 1.0]) for arm in (FIRST, SECOND)}
    made = records(costs, {arm: {} for arm in costs}, blocks=2)
    spoilt = [dataclasses.replace(record, status="invalid") if (record.block, record.arm) == (1, SECOND) else record for record in made]
    (found,) = sweeps((FIRST, SECOND), spoilt)
    assert found.growths[0] is not None
    assert found.growths[1] is None
    assert found.claims == ()


def test_a_count_that_differs_between_trials_has_no_growth() -> None:
    """What is not exact is told by its own verdict, and not dressed up as a law."""
    counts = {arm: at("tokens_compared_per_step", [2.0, 2.0, 2.0]) for arm in (FIRST, SECOND)}
    made = records({arm: {} for arm in counts}, counts)
    made[0] = dataclasses.replace(made[0], witnesses=at("tokens_compared_per_step", [2.0, 2.0, 3.0]))
    assert sweeps((FIRST, SECOND), made) == []


def test_sizes_that_no_metric_shares_are_no_sweep() -> None:
    """One size, two parameters in a case, or a size of 0 make no sweep."""
    names = ("round_time@output_length=5", "round_time@a=1,b=2", "round_time@rows=0", "round_time")
    made = records({arm: dict.fromkeys(names, 1.0) for arm in (FIRST, SECOND)}, {FIRST: {}, SECOND: {}})
    assert sweeps((FIRST, SECOND), made) == []
