"""Whether a repeat contradicts a verdict."""

from __future__ import annotations

import pytest

from perfproof.analysis.judging.repeats import contradicts, doubted
from tests.report import factory


def _row(verdict: str, effect: float, low: float, high: float) -> object:
    return factory.row("a", "round_time", verdict, effect=effect, interval=(low, high))  # type: ignore[arg-type]


IMPROVED = ("improved", -0.397, -0.63, -0.017)


@pytest.mark.parametrize(
    ("row", "other", "contradicted"),
    [
        (IMPROVED, ("inconclusive", 0.022, -0.42, 0.802), True),
        (IMPROVED, ("improved", -0.3, -0.4, -0.2), False),
        (IMPROVED, ("inconclusive", -0.05, -0.4, 0.3), False),
        (("improved", -0.1, -0.12, -0.08), ("equivalent", -0.001, -0.01, 0.01), True),
        (("improved", -0.1, -0.12, -0.08), ("improved", -0.3, -0.35, -0.25), False),
        (("equivalent", 0.001, -0.01, 0.01), ("regressed", 0.05, 0.03, 0.07), True),
        (("equivalent", 0.001, -0.01, 0.01), ("inconclusive", 0.05, -0.03, 0.12), False),
        (("inconclusive", 0.05, -0.03, 0.12), ("regressed", 0.5, 0.4, 0.6), False),
    ],
)
def test_a_repeat_contradicts_what_was_settled(row: tuple, other: tuple, contradicted: bool) -> None:
    """A settled change is contradicted by an estimate outside of its interval that is none or goes the other way; an open one never."""
    assert contradicts(_row(*row), _row(*other)) is contradicted  # type: ignore[arg-type]


def test_another_count_contradicts() -> None:
    """Counts are exact: a repeat in which the count did not move contradicts one in which it fell."""
    fell, same = factory.row("a", "bytes_per_swap", "improved"), factory.row("a", "bytes_per_swap", "equivalent", effect=0.0)
    assert contradicts(fell, same)
    assert not contradicts(fell, fell)


@pytest.mark.parametrize(
    ("row", "other", "taken"),
    [
        (("equivalent", 0.001, -0.01, 0.01), ("regressed", 1.0, 0.9, 1.1), "inconclusive"),
        (("improved", -0.1, -0.12, -0.08), ("equivalent", -0.001, -0.01, 0.01), "inconclusive"),
        (("regressed", 0.1, 0.08, 0.12), ("improved", -0.1, -0.12, -0.08), "regressed"),
        (("equivalent", 0.001, -0.01, 0.01), ("equivalent", 0.002, -0.01, 0.01), "equivalent"),
    ],
)
def test_a_verdict_that_a_repeat_contradicts_passes_nothing(row: tuple, other: tuple, taken: str) -> None:
    """A decision takes it for inconclusive, and says what the repeat gave; a lucky repeat takes no regression back."""
    one = doubted(_row(*row), [("bad", [_row(*other)])])  # type: ignore[arg-type]
    assert one.verdict == taken
    assert one.verdict == row[0] or one.reason.startswith(f"{row[0]} here, but a repeat (bad) gave ")
