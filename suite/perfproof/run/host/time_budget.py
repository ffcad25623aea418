"""A time budget that ends a command when it is over, whether the command waits, installs or measures.

It works like Ctrl-C: running programs are killed at once, complete records stay.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from perfproof.builds.processes.supervised_process import HURRY
from perfproof.model.base.errors import CannotRun

LEAST = 1e-3
"""Seconds for a budget that is used up already: a timer of 0 would never go off."""

AGAIN = 30.0
"""Seconds until it goes off again, in case Python dropped the exception (for example in a finaliser); by then programs have ended."""


WAITING = 5
"""Waiting for the machine may take one of so many parts of a budget."""


class Spent(BaseException):
    """The time budget is over. It is not an `Exception`, so that no handler continues by mistake."""


class NothingMeasured(CannotRun):
    """The time budget was used up before anything was measured."""


@contextmanager
def ends_after(seconds: float | None) -> Iterator[None]:
    """Raises `Spent` in its context after so many seconds; never with None. It works in the main thread only.

    From then on programs that are stopped are killed at once, until another budget begins.
    """
    HURRY.clear()
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
    """A context for the work before measuring; `seconds` are left of a budget of `minutes`. Raises `NothingMeasured` once they are over."""
    try:
        with ends_after(seconds):
            yield
    except Spent as spent:
        raise NothingMeasured(nothing_measured(minutes or 0.0)) from spent


def waiting(wanted: float, left: float | None) -> float:
    """The seconds that a command may wait for the machine, of those that are `wanted`; `left` are those of its budget, None without one."""
    return wanted if left is None else min(wanted, left / WAITING)


def counted_down(minutes: float | None, clock: Callable[[], float] = time.monotonic) -> Callable[[], float | None]:
    """A function for the seconds left of a budget that begins now, never below 0; None where there is no budget."""
    began = clock()
    return lambda: None if minutes is None else max(0.0, 60 * minutes - (clock() - began))


def nothing_measured(minutes: float) -> str:
    """The message that a budget was used up before anything was measured, with the remedy."""
    return (
        f"the time budget of {minutes:g} minutes was used up before anything was measured (on builds, on waiting for the machine, on a "
        "first trial): allow more with --budget, do not wait with --wait 0, or make the builds beforehand with 'perfproof setup'"
    )


def _over(number: int, frame: FrameType | None) -> NoReturn:
    HURRY.set()
    raise Spent
