"""The time of rounds over a fixed loop beside them: whatever slows the whole machine is not in it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.bench import rounds as timed_rounds

SPEEDS = st.lists(st.floats(0.2, 5.0), min_size=1, max_size=12)


class Clocked:
    """A `benchmark` whose rounds take what a test says, as pytest-benchmark's pedantic mode runs them: the first ones warm up."""

    def __init__(self, times: Sequence[float] | None) -> None:
        self.extra_info: dict[str, Any] = {}
        self.stats = None if times is None else SimpleNamespace(stats=SimpleNamespace(data=list(times)))
        self.arguments: list[Any] = []

    def pedantic(
        self, function: Callable[..., object], *, setup: Callable[[], Any], rounds: int, warmup_rounds: int, iterations: int
    ) -> None:
        assert iterations == 1
        for _ in range(warmup_rounds + rounds):
            self.arguments.append(setup())
            function()


def normalized(monkeypatch: pytest.MonkeyPatch, rounds: Sequence[float] | None, loops: Sequence[float], warmup: int = 0) -> float | None:
    """What is left of rounds that took so long, with loops that took so long, one more than there are rounds."""
    left, benchmark = iter(loops), Clocked(rounds)
    monkeypatch.setattr(timed_rounds, "loop_time", lambda: next(left))
    parameters = {"rounds": len(loops) - 1 - warmup, "warmup_rounds": warmup}
    timed_rounds.time_rounds(benchmark, parameters, lambda: None, lambda: None)
    assert next(left, None) is None
    found: float | None = benchmark.extra_info.get("measurements", {}).get("normalized_round_time")
    return found


def test_a_round_is_held_against_the_loops_before_and_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The median of 6 / 1.5, 6 / 2 and 6 / 3."""
    assert normalized(monkeypatch, [6.0, 6.0, 6.0], [1.0, 2.0, 2.0, 4.0]) == 3.0


def test_loops_of_warm_up_rounds_count_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those beside the timed rounds do."""
    assert normalized(monkeypatch, [6.0], [9.0, 9.0, 2.0, 4.0], warmup=2) == 2.0


@given(speeds=SPEEDS)
def test_what_slows_rounds_and_loops_alike_is_not_in_it(speeds: list[float]) -> None:
    """Each round takes ten loops' time at whatever speed the machine has around it."""
    loops = [*speeds, speeds[-1]]
    rounds = [10 * (before + after) / 2 for before, after in pairwise(loops)]
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert normalized(monkeypatch, rounds, loops) == pytest.approx(10)


def test_a_trial_that_times_nothing_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest-benchmark that is switched off, as where rounds are only counted, leaves no rounds."""
    assert normalized(monkeypatch, None, [1.0, 1.0]) is None


def test_rounds_of_a_gpu_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop on the host says nothing of the GPU's speed."""
    monkeypatch.setattr(timed_rounds, "_on_gpu", lambda: True)
    assert normalized(monkeypatch, [6.0], [1.0, 1.0]) is None


@pytest.mark.parametrize("collects", [True, False])
def test_the_loop_takes_time_and_leaves_nothing(collects: bool) -> None:
    """Neither an object for the next garbage collection nor another state of the collector, and no collection falls into it."""
    was = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        gc.collect()  # what the tests before left is not to be collected in between
        timed_rounds.loop_time()  # the first one fills the interpreter's own lists of free objects
        before, ran = gc.get_count()[0], gc.get_stats()
        assert timed_rounds.loop_time() > 0
        assert gc.isenabled() is collects
        assert gc.get_count()[0] <= before + 10
        assert [one["collections"] for one in gc.get_stats()] == [one["collections"] for one in ran]
    finally:
        (gc.enable if was else gc.disable)()
