"""How the minutes of `--budget` are divided, so that an answer stands at their end.

The budget begins with the command. Its last seconds belong to the answer: programs are ended and text and page are written in them.
Counting has the first share, waiting for a quiet machine a part of what is left, and measuring has the rest. A step that can't end in time,
by what this machine has shown, is not begun.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from perfproof.changes.counting.host_count import budget_of

ANSWER = 6.0
"""Seconds that ending programs and writing the answer take, on a busy machine."""
ANSWER_SHARE = 0.04
"""And the share of the budget that is kept for it besides: longer runs leave more records to read."""
MOST_ANSWER = 0.25
"""The most of a budget that is kept for the answer."""
WAITING = 5
"""Waiting for the machine may take one of so many parts of the time that is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBudget:
    """A budget of `minutes`, None for as long as it takes. `began` is when the command began, by `clock` (seconds)."""

    minutes: float | None
    began: float = field(default_factory=time.monotonic)
    clock: Callable[[], float] = time.monotonic

    def left(self) -> float | None:
        """The seconds until the answer is to be written, never below 0; None without a budget."""
        if self.minutes is None:
            return None
        whole = 60 * self.minutes
        kept = min(ANSWER + ANSWER_SHARE * whole, MOST_ANSWER * whole)
        return max(0.0, whole - kept - (self.clock() - self.began))

    def counting(self, *, alone: bool) -> Callable[[], float | None]:
        """A function for the seconds left for counting, all of them where there is nothing to time besides (`alone`)."""
        return self.left if alone or self.minutes is None else budget_of(self.minutes, self.left)

    def waiting(self, wanted: float) -> float:
        """The seconds that a run may wait for the machine, of those that are `wanted`."""
        left = self.left()
        return wanted if left is None else min(wanted, left / WAITING)
