"""The analysis answers at once, however many trials there are."""

from __future__ import annotations

import time

import numpy as np
import pytest

from perfproof.analysis.stats.alpha_spending import one_look, sequential
from perfproof.analysis.stats.samples import PairedSample, pair_arrays
from perfproof.analysis.verdicts.verdict import judge_all

METRICS = [f"metric {i}" for i in range(40)]


def paired(values: np.ndarray, metrics: list[str]) -> list[PairedSample]:
    """Samples of blocks whose two arms are one trial after the other; shape (trials, metrics)."""
    return [pair_arrays(values[::2, i], values[1::2, i], metric=name, unit="s") for i, name in enumerate(metrics)]


@pytest.mark.parametrize(("scenarios", "blocks"), [(1, 50_000), (125, 400)])
def test_a_hundred_thousand_trials_of_forty_metrics_are_judged_in_five_seconds(scenarios: int, blocks: int) -> None:
    """One scenario of 50,000 blocks, or 125 of 400: pairing and verdicts together, in CPU time."""
    values = np.exp(np.random.default_rng(1).normal(0, 0.02, (2 * blocks, 40)))
    start = time.process_time()
    for _ in range(scenarios):
        verdicts = judge_all(paired(values, METRICS), one_look(blocks), margins=[0.02] * 40)
        assert len(verdicts) == 40
    assert time.process_time() - start < 5


def test_ten_thousand_trials_in_scenarios_of_twelve_blocks_are_judged_in_two_seconds() -> None:
    """416 scenarios of 12 blocks with 6 primary metrics each: what a full results folder asks of `compare`."""
    values = np.exp(np.random.default_rng(1).normal(0, 0.02, (24, 6)))
    start = time.process_time()
    for _ in range(416):
        judge_all(paired(values, METRICS[:6]), sequential(6), margins=[0.02] * 6)
    assert time.process_time() - start < 2
