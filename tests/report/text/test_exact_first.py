"""What is known exactly stands before times that could not be tested, and is no verdict on them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from perfproof.model.verdicts.judged import Uncounted
from perfproof.report.lead.lead import lead
from perfproof.report.text.headline import headline
from perfproof.report.view import build
from tests.report import factory

BUSY = "5 of 5 blocks are invalid (the first: 73.7 % of the CPU time went to other processes): this machine is too noisy to measure on"
WORK = "python_instructions@requests=64"


def told(*rows: Any) -> str:
    return headline(build(rows, [], made="", version="0").scenarios)


def time(verdict: Any = "untestable", scenario: str = "queue", reason: str = BUSY) -> Any:
    return factory.row(scenario, "round_time", verdict, primary=True, reason=reason)


def count(verdict: Any, effect: float, metric: str = WORK) -> Any:
    return factory.row("queue", metric, verdict, primary=False, effect=effect, interval=None)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([count("less", -0.164)], "queue: −16.4\u202f% Python instructions, exact (requests=64); times untestable: the machine was busy"),
        (
            [count("less", -0.5, "c_calls"), count("regressed", 0.02)],
            "queue: +2.0\u202f% Python instructions, exact (requests=64; 2 of 2",
        ),
        ([count("equivalent", -0.0004), count("less", -0.5, "c_calls")], "queue: −50.0\u202f% c calls, exact (2 of 2 counts changed)"),
        ([count("identical", 0.0)], "queue: nothing changed in 1 count, exact; times untestable: the machine was busy"),
    ],
)
def test_what_counts_say_comes_first(counts: list[Any], said: str) -> None:
    """More work before less, what moved before what did not, and the reason for the times behind it."""
    assert told(time(), *counts).startswith(said)


@pytest.mark.parametrize(
    ("interval", "said"),
    [((0.307, 0.394), "; round time +35.0\u202f%, not counted"), ((-0.1, 0.2), ""), ((-0.4, -0.3), "")],
)
def test_a_time_that_surely_grew_stands_beside_less_work(interval: tuple[float, float], said: str) -> None:
    """Fewer instructions that take longer are no good news, though the blocks that show it don't count."""
    seen = Uncounted(baseline_value=1.0, candidate_value=1.35, blocks=6, effect=0.35, interval=interval)
    grown = dataclasses.replace(time(), effect=None, interval=None, uncounted=seen)
    assert told(grown, count("less", -0.164)).endswith(f"times untestable: the machine was busy{said}")


def test_counts_stand_before_times_that_are_not_settled() -> None:
    """With the times behind them; where a time of the scenario is settled, it is the news."""
    open_ = factory.row("queue", "round_time", "inconclusive", primary=True)
    said = "+6.0\u202f% Python instructions, exact (requests=64; 1 of 2 counts changed); "
    counts = [count("regressed", 0.06), count("identical", 0.0, "c_calls")]
    assert told(open_, *counts) == f"{said}queue is inconclusive"
    page = build([open_, *counts], [], made="", version="0")
    assert lead(page).result.startswith(f"Patched: {said}") or lead(page).result.startswith(f"patched: {said}")
    assert "not settled" in lead(page).result
    settled = factory.row("queue", "feed_time", "improved", primary=True)
    assert "exact" not in told(open_, settled, *counts)
    assert "exact" not in lead(build([open_, settled, *counts], [], made="", version="0")).result
    elsewhere = [open_, *counts, time("improved", "quicker")]
    assert "exact" not in lead(build(elsewhere, [], made="", version="0")).result


@pytest.mark.parametrize(
    "rows",
    [
        [time()],
        [time(), count("untestable", 0.0)],
        [time("improved"), count("less", -0.1)],
        [time(), factory.row("queue", "greedy_outputs", "untestable", primary=True), count("less", -0.1)],
    ],
)
def test_nothing_is_said_to_be_known_that_is_not(rows: list[Any]) -> None:
    """Without counts, with times that were tested, or where answers are untestable too, the heading is as ever."""
    assert "exact" not in told(*rows)


def test_a_regression_elsewhere_comes_before_a_count() -> None:
    """Of several scenarios the worst news stays first."""
    assert told(time("regressed", "slower"), time(), count("less", -0.1)).startswith("1 scenario regressed")
    assert told(time("improved", "quicker"), time(), count("less", -0.1)).startswith("queue: −10.0")
