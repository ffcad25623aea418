"""A time budget that ends what it was given to when it is over, whatever that is doing: waiting, installing or measuring.

It ends as Ctrl-C does: programs that run are ended, records that are whole stay.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from perfproof.model.base.errors import CannotRun

LEAST = 1e-3
"""Seconds of a budget that is spent already: a timer of none would never go off."""

AGAIN = 30.0
"""Seconds until it goes off again, should Python have dropped what was raised (in a finaliser, say); by then programs have ended."""


class Spent(BaseException):
    """The time budget is over. No `Exception`, so that nothing goes on from it by mistake."""


@contextmanager
def ends_after(seconds: float | None) -> Iterator[None]:
    """Raises `Spent` inside once so many seconds are over; never with None. Only the main thread can be ended."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _over)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, LEAST), AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def enough_to_begin(minutes: float | None, seconds: float | None) -> Iterator[None]:
    """What comes before measuring, for which `seconds` of a budget of so many minutes are left. Raises `CannotRun` once they are over."""
    try:
        with ends_after(seconds):
            yield
    except Spent as spent:
        raise CannotRun(nothing_measured(minutes or 0.0)) from spent


def counted_down(minutes: float | None, clock: Callable[[], float] = time.monotonic) -> Callable[[], float | None]:
    """Gives the seconds that are left of a budget which begins now, none below 0; None where there is no budget."""
    began = clock()
    return lambda: None if minutes is None else max(0.0, 60 * minutes - (clock() - began))


def nothing_measured(minutes: float) -> str:
    """That a budget was spent before anything was measured, and what to do."""
    return (
        f"the time budget of {minutes:g} minutes was spent before anything was measured (on builds, on waiting for the machine, on a first "
        "trial): give it longer with --budget, or make the builds beforehand with 'perfproof setup'"
    )


def _over(number: int, frame: FrameType | None) -> NoReturn:
    raise Spent
