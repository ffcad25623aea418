"""A lasting change of level in a series, and its confirmation by measurement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from perfproof.model.history.point import Series

STEPS_SCHEMA = 1
Direction = Literal["rise", "fall"]
Label = str | int
"""The name of a point in a series: a build's label, or the number in a table's first column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A series is at `before` up to the point `last`, and at `after` from the point `at` on (base units; medians where timed).

    `effect` is after / before - 1, None where `before` is 0; `interval` are its bounds at 95 %, equal to it for a count. `confidence`
    is 1 minus the chance that a series without any step shows one like it, 1 for a count. `environment` names other changes at
    this point, in words, "" if there are none. `confirmed` is the result of a paired run of the two neighbours: None without one.
    `acknowledged` is the reason why the step was accepted, "" where it was not.
    """

    at: Label
    last: Label
    direction: Direction
    before: float
    after: float
    effect: float | None
    interval: tuple[float, float] | None
    confidence: float
    reason: str
    environment: str
    confirmed: bool | None
    acknowledged: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The result of a paired run of a step's two neighbours: True, False, or None if it is inconclusive; the reason in words."""

    confirmed: bool | None
    reason: str


Confirm = Callable[[Series, Step], Confirmation]
"""Measures the neighbours of a step, `last` against `at`, and decides whether it is real."""


def step_entry(step: Step) -> dict[str, Any]:
    """One entry of `perfproof steps --json`."""
    return {
        "at": step.at,
        "direction": step.direction,
        "before": step.before,
        "after": step.after,
        "effect": step.effect,
        "interval": list(step.interval) if step.interval else None,
        "confidence": step.confidence,
        "reason": step.reason,
        "confirmed": step.confirmed,
    }
