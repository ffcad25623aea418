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
from perfproof.run.host.time_budget import waiting

ANSWER = 6.0
"""Seconds that ending programs and writing the answer take, at least."""
ANSWER_SHARE = 0.04
"""The share of the budget that is kept for it besides: longer runs leave more records to read."""
ANSWER_WORK = 4.0
"""Seconds of the processor that it takes, most of them imports and the page: on a busy machine a multiple of them passes."""
COMPARING = 2.0
"""Seconds of the processor that ending and comparing counts takes."""
ONE_THING = 1.0
"""Minutes of a budget, and fewer, that a count fills if it is begun: of what it left nothing could be timed."""
MOST_ANSWER = 0.25
"""The most of a budget that is kept for the answer."""


@dataclass(frozen=True, slots=True)
class Began:
    """When a command began, in seconds of `time.monotonic`, and how many seconds of the processor its process had taken by then."""

    at: float = field(default_factory=time.monotonic)
    worked: float = field(default_factory=time.process_time)

    def slowness(self) -> float:
        """How many seconds have passed for each second that the process worked since; at least 1. It must not have waited."""
        return max(1.0, (time.monotonic() - self.at) / max(time.process_time() - self.worked, 0.1))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBudget:
    """A budget of `minutes`, None for as long as it takes. `began` is when the command began, by `clock` (seconds); `slowness` is how many
    seconds pass here for one of the processor."""

    minutes: float | None
    began: float
    slowness: float = 1.0
    clock: Callable[[], float] = time.monotonic

    def left(self) -> float | None:
        """The seconds until the answer is to be written, never below 0; None without a budget."""
        if self.minutes is None:
            return None
        whole = 60 * self.minutes
        kept = min(max(ANSWER + ANSWER_SHARE * whole, ANSWER_WORK * self.slowness), MOST_ANSWER * whole)
        return max(0.0, whole - kept - (self.clock() - self.began))

    def counting(self, *, alone: bool) -> Callable[[], float | None]:
        """A function for the seconds left for counting, all of them where there is nothing to time besides (`alone`) or no time for it."""
        if self.minutes is None:
            return lambda: None
        whole = alone or self.minutes <= ONE_THING * self.slowness
        return self._until_compared if whole else budget_of(self.minutes, self._until_compared)

    def _until_compared(self) -> float:
        return max(0.0, (self.left() or 0.0) - COMPARING * self.slowness)

    def waiting(self, wanted: float) -> float:
        """The seconds that a run may wait for the machine, of those that are `wanted`."""
        return waiting(wanted, self.left())
