"""What the rounds of a microbenchmark say of themselves is reported beside its times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfproof.run.kinds.micro.micro_result import read_trial
from perfproof.run.kinds.micro.round_checks import warnings


@pytest.mark.parametrize("times", [10, 73, 650, 1140])
def test_a_first_round_far_off_the_others_is_reported(times: int) -> None:
    """A benchmark that uses up what it works on does its work once: the first round says so, with the remedy."""
    [told] = warnings("round_time", [1e-3 * times, *[1e-3] * 19])
    assert told.startswith(f"round_time: the first round took {times:,} times the median of all 20")
    assert "setup=" in told


@pytest.mark.parametrize("rounds", [[1e-3] * 20, [6e-3, *[1e-3] * 19], [1.0, 1e-3, 1e-3], [1e-3] * 19 + [1.0], [], [0.0] * 9])
def test_ordinary_rounds_are_told_nothing_of(rounds: list[float]) -> None:
    """A first round that is somewhat slower, one that is slow later, and too few rounds to know, are no reason to warn."""
    assert list(warnings("round_time", rounds)) == []


@pytest.mark.parametrize(("seconds", "iterations", "offered"), [(0.9e-6, 1, 10_000), (50e-9, 10, 100_000), (4e-6, 1, 1_000)])
def test_rounds_that_are_over_before_the_clock_can_tell_offer_iterations(seconds: float, iterations: int, offered: int) -> None:
    """Where the clock's own time is a part of a round that matters, more calls a round are offered."""
    [told] = warnings("round_time", [seconds] * 20, iterations)
    assert "the clock is part of what was measured" in told
    assert f"iterations={offered} " in told


def test_many_short_calls_in_a_round_are_long_enough() -> None:
    """What counts is the round, not the call."""
    assert list(warnings("round_time", [0.9e-6] * 20, 1000)) == []


def test_the_warning_travels_with_the_trial(tmp_path: Path) -> None:
    """What a trial's files show goes into its reading, and so into its record."""
    one = {"name": "test_it", "extra_info": {}, "stats": {"data": [0.9e-6] * 20, "iterations": 1}}
    (tmp_path / "benchmark.json").write_text(json.dumps({"benchmarks": [one]}))
    (tmp_path / "trial.json").write_text(json.dumps({"tests": [], "seconds": {}}))
    [told] = read_trial(tmp_path, {"": {}}).warnings
    assert "iterations=10000 " in told
