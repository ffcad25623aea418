"""The counter itself, over the hooks that the interpreter has: `sys.monitoring` from Python 3.12 on, `sys.settrace` before.

What lies between `start` and `stop` is counted in all threads that the hooks see, as far as it was called there: frames that ran before
`start` are not followed. The tally names the threads that were not seen; where the hooks were taken away, there is no count.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from perfproof.child.counting.monitoring import Monitoring
from perfproof.child.counting.tally import Tally
from perfproof.child.counting.tracing import Tracing
from perfproof.child.counting.work import OURS, FunctionWork

SETTLED = 3
"""Looks without a change after which another thread has come to rest."""
LOOK = 0.01
"""Seconds between two looks."""
LONGEST = 2.0
"""Seconds in which other threads must come to rest."""
MONITORED = hasattr(sys, "monitoring")
"""Whether the interpreter has `sys.monitoring`."""


class NotCounting(RuntimeError):
    """The counter was not on, or was taken away: what it says is not to be believed."""


class Counter:
    """Counts what runs between `start` and `stop`. `closely` are functions (`module:Qual.name`) whose lines are counted as well, those
    inside them too. `within` is a package whose functions alone are counted, those that others call, too; "" for all functions."""

    def __init__(self, closely: tuple[str, ...] = (), within: str = "") -> None:
        self._closely = closely
        self._within = within
        self._hooks = Monitoring(self._function, bool(closely)) if MONITORED else Tracing(self._function)

    def install(self) -> None:
        """From now on new threads can be counted; from Python 3.12 those that run already, too."""
        self._hooks.install()

    def remove(self) -> None:
        """The interpreter is left alone again."""
        self._hooks.remove()

    def start(self) -> None:
        try:
            self._hooks.start()
        except RuntimeError as error:
            raise NotCounting(str(error)) from error

    def stop(self) -> Tally:
        """What was counted since `start`. Raises `NotCounting` where something has taken the hooks away."""
        fault = self._hooks.pause()
        self._rest()
        works = self._hooks.stop()
        if fault := fault or self._hooks.lost(works):
            raise NotCounting(fault)
        found = Tally(missed=self._hooks.missed())
        for work in works:
            work.tell(found)
        return found

    def suspend(self) -> object:
        """What this thread does from here on is not counted; what `resume` needs to go on. Calls may be nested."""
        return self._hooks.suspend()

    def resume(self, away: object) -> None:
        """Goes on where `suspend` stopped, in the same frame."""
        self._hooks.resume(away)

    def abandon(self) -> None:
        """Nothing is counted any longer, and nothing told: for a process that was forked from the one that counts."""
        self._hooks.abandon()

    def _function(self, frame: FrameType) -> FunctionWork:
        """The record of a function that is met for the first time."""
        code = frame.f_code
        module = str(frame.f_globals.get("__name__", "?"))
        name = f"{module}:{code.co_qualname}"
        closely = any(name == one or name.startswith(f"{one}.<locals>.") for one in self._closely)
        elsewhere = bool(self._within) and module != self._within and not module.startswith(f"{self._within}.")
        return FunctionWork(code, name, closely, elsewhere or code.co_filename.startswith(OURS))

    def _rest(self) -> None:
        """Waits until other threads that did something have come to rest: one that gave its answer is not at its end yet."""
        seen, still, began = self._hooks.others(), 0, time.monotonic()
        if not any(seen):
            return
        while still < SETTLED and time.monotonic() - began < LONGEST:
            time.sleep(LOOK)
            now = self._hooks.others()
            still, seen = (still + 1 if now == seen else 0), now


_KNOWN = "def known(turns):\n    total = 0\n    for turn in range(turns):\n        total += turn\n    return total\n"


def prove(counter: Counter) -> None:
    """Sees that the counter counts: a known loop, so many turns longer, takes so many turns' instructions more. Raises `NotCounting`."""
    scope: dict[str, Any] = {"__name__": "known"}
    exec(compile(_KNOWN, "known", "exec"), scope)  # noqa: S102 (our own text; it must not lie in this folder, whose work is not counted)
    for _ in range(2):
        counts = [_counted(counter, scope["known"], turns) for turns in (10, 20, 30)]
        if counts[0] and counts[2] - counts[1] == counts[1] - counts[0] > 10:
            return
    raise NotCounting(f"the interpreter tells the counter of no instructions, or of others than it runs: a known loop gave {counts}")


def _counted(counter: Counter, function: Callable[[int], object], turns: int) -> int:
    counter.start()
    function(turns)
    return counter.stop().total()
