"""The analysis answers at once, however many trials there are."""

from __future__ import annotations

import time

import numpy as np
import pytest

from suite.analysis.samples import pair_table
from suite.analysis.spending import one_look, sequential
from suite.analysis.verdict import judge_all

METRICS = [(f"metric {i}", "s", "lower") for i in range(40)]


@pytest.mark.parametrize(("scenarios", "blocks"), [(1, 50_000), (125, 400)])
def test_a_hundred_thousand_trials_of_forty_metrics_are_judged_in_five_seconds(scenarios: int, blocks: int) -> None:
    """One scenario of 50,000 blocks, or 125 of 400: pairing and verdicts together, in CPU time."""
    values = np.exp(np.random.default_rng(1).normal(0, 0.02, (2 * blocks, 40)))
    numbers, arms = np.repeat(np.arange(blocks), 2).tolist(), ["a", "b"] * blocks
    start = time.process_time()
    for _ in range(scenarios):
        samples = pair_table(values, numbers, arms, METRICS, baseline="a", candidate="b")  # type: ignore[arg-type]
        verdicts = judge_all(samples, one_look(blocks), margins=[0.02] * 40)
        assert len(verdicts) == 40
    assert time.process_time() - start < 5


def test_ten_thousand_trials_in_scenarios_of_twelve_blocks_are_judged_in_two_seconds() -> None:
    """416 scenarios of 12 blocks with 6 primary metrics each: what a full results folder asks of `compare`."""
    values = np.exp(np.random.default_rng(1).normal(0, 0.02, (24, 6)))
    numbers, arms = np.repeat(np.arange(12), 2).tolist(), ["a", "b"] * 12
    start = time.process_time()
    for _ in range(416):
        samples = pair_table(values, numbers, arms, METRICS[:6], baseline="a", candidate="b")  # type: ignore[arg-type]
        judge_all(samples, sequential(6), margins=[0.02] * 6)
    assert time.process_time() - start < 2
