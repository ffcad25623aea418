"""A counted round of a benchmark: repeated until two agree, at a smaller size where that is named, and told where it can't be."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from perfproof.child.counted_benchmarks import Counting
from perfproof.child.counted_rounds import MOST, TooLong, count_cases, count_round
from perfproof.patches import guard
from tests.child import counted_work

WORK = "tests.child.counted_work:work"


def bench(counted_round: Callable[..., Any], **more: Any) -> ModuleType:
    module = ModuleType("bench")
    module.counted_round = counted_round  # type: ignore[attr-defined]
    module.PARAMETERS = {"turns": 100, "name": "x", **more}  # type: ignore[attr-defined]
    return module


def test_a_round_is_counted_twice_and_agrees() -> None:
    """What it holds is the function that ran, with its C calls, and the calls of no one else."""
    table = count_round(lambda: partial(counted_work.work, 5))
    assert list(table["functions"]) == [WORK]
    assert table["functions"][WORK][1] == 1
    assert table["c_calls"] == {"len": 5}
    assert (table["waves"], table["odd"], table["steps"]) == (2, [], 1)


def test_more_work_counts_more_and_the_same_the_same() -> None:
    """The counts grow by as much a turn, and two processes' worth of rounds do not differ."""
    few, more, most = (count_round(lambda turns=turns: partial(counted_work.work, turns)) for turns in (5, 6, 7))
    own = [one["functions"][WORK][0] for one in (few, more, most)]
    assert own[2] - own[1] == own[1] - own[0] > 0
    assert count_round(lambda: partial(counted_work.work, 5)) == few


def test_a_round_that_never_agrees_is_named_by_function() -> None:
    """A function that does more each time is odd after the last try; its neighbour is not."""
    turns = iter(range(100))
    table = count_round(lambda: lambda: (counted_work.work(next(turns)), counted_work.still()))
    assert table["waves"] == MOST
    assert table["odd"] == ["len", WORK]


def test_a_long_round_is_not_counted_and_says_what_to_do() -> None:
    """Counting would take minutes: the case has no counts, its neighbour has, and the words name the key."""

    def counted_round(parameters: dict[str, Any]) -> Any:
        return busy if parameters["turns"] > 50 else lambda: counted_work.work(3)

    found = count_cases(bench(counted_round), {"turns=100": {}, "turns=5": {"turns": 5}}, {})
    assert list(found["counts"]) == ["turns=5"]
    assert found["warnings"][0].startswith("turns=100: its work was not counted: a round takes 0.")
    assert found["warnings"][0].endswith("a smaller round is named with workload.count_at")


def busy() -> None:
    began = time.thread_time()
    while time.thread_time() - began < 0.15:
        pass


def test_a_smaller_size_is_taken_and_kept() -> None:
    """Parameters are no larger than the size that is named; smaller ones stay, and the record says which were cut."""
    seen: list[dict[str, Any]] = []

    def counted_round(parameters: dict[str, Any]) -> Any:
        seen.append(parameters)
        return lambda: counted_work.work(parameters["turns"])

    found = count_cases(bench(counted_round, rows=4), {"": {}}, {"turns": 10, "rows": 8, "unknown": 1})
    assert found["counts"][""]["at"] == {"turns": 10}
    assert seen[0] == {"turns": 10, "name": "x", "rows": 4}


def test_cases_with_the_same_round_are_counted_once() -> None:
    """Where a size is cut, several cases have one round; each has its count, and says what was cut."""
    seen: list[int] = []

    def counted_round(parameters: dict[str, Any]) -> Any:
        seen.append(parameters["turns"])
        return lambda: counted_work.work(parameters["turns"])

    cases = {f"turns={turns}": {"turns": turns} for turns in (20, 5, 30)}
    counts = count_cases(bench(counted_round), cases, {"turns": 10})["counts"]
    assert counts["turns=20"] == counts["turns=30"] != counts["turns=5"]
    assert [counts[case]["at"] for case in cases] == [{"turns": 10}, {}, {"turns": 10}]
    assert seen == sorted(seen, reverse=True)


def test_a_round_that_fails_or_skips_leaves_the_trial_whole() -> None:
    """Whatever a benchmark's round raises is told in a line, pytest's skip as well."""

    def failing(parameters: dict[str, Any]) -> Any:
        raise ValueError("no such\nthing")

    def skipping(parameters: dict[str, Any]) -> Any:
        pytest.skip("not in this version")

    told = [count_cases(bench(one), {"": {}}, {})["warnings"] for one in (failing, skipping)]
    assert told == [["its work was not counted: ValueError: no such"], ["its work was not counted: Skipped: not in this version"]]


def test_counted_calls_are_not_attested() -> None:
    """Calls of a counted round prove nothing of the timed ones."""
    count = guard.counter("calls tests:counted")
    count.add(3)
    count_round(lambda: lambda: count.add(5))
    assert count.value == 3


def test_threads_that_a_round_starts_are_counted() -> None:
    """Work in a thread is work."""
    table = count_round(lambda: counted_work.threaded)
    assert table["functions"][WORK][1] == 2


def test_a_trace_function_of_its_own_is_told() -> None:
    """A round that takes the counter away has no count."""
    found = count_cases(bench(lambda parameters: lambda: sys.settrace(None)), {"": {}}, {})
    assert "trace or profile function of its own" in found["warnings"][0]


def test_the_fixture_counts_and_hands_the_answer_on() -> None:
    """Both ways of running a function count it and return what it returns; set up and torn down for every round."""
    counting, fixture = Counting(lambda test: test), SimpleNamespace(fullname="test_it")
    log: list[str] = []

    def make() -> Any:
        log.append("up")
        return (4,), {}

    answer = counting.count(fixture, counted_work.work, make, lambda *args: log.append("down"))
    assert answer == counted_work.work(4)
    assert counting.counts["test_it"]["functions"][WORK][1] == 1
    assert log == ["up", "down"] * (len(log) // 2)


def test_a_benchmark_that_fails_while_counted_fails_as_ever() -> None:
    """Its own error goes on to its test; one of the counter's does not."""
    counting, fixture = Counting(lambda test: test), SimpleNamespace(fullname="test_it")
    with pytest.raises(ZeroDivisionError):
        counting.count(fixture, lambda: 1 / 0, lambda: ((), {}), None)
    assert counting.count(fixture, busy, lambda: ((), {}), None) is None
    assert "too long" in counting.warnings["test_it"]
    with pytest.raises(TooLong):
        count_round(lambda: busy)
