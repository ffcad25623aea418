"""The start of a run on a machine that is busy with something else: waited for, warned about, or refused."""

from __future__ import annotations

import time
from collections.abc import Callable

from suite.analysis.invalidation import busy
from suite.model.errors import CannotRun
from suite.model.scenario import Profile
from suite.run import environment, telemetry

WAIT = 60.0
"""Seconds in which a busy machine may become quiet before the run goes on all the same, or is refused."""
PAUSE = 4.0
"""Seconds between two looks, each of a second."""


def settle(
    profile: Profile,
    say: Callable[[str], None],
    *,
    gpu: bool | None = None,
    look: Callable[[], float] = telemetry.in_use,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Waits up to a minute for a quiet machine, then goes on with a warning; on a GPU, `standard` and `thorough` raise `CannotRun` instead.

    `gpu` says whether there is one (asked of the machine if None); `look` gives the share of CPU time that others take now.
    """
    if not (why := busy(look())):
        return
    say(f"{why}; waiting up to {WAIT:.0f} s for it to become quiet")
    began = clock()
    while why and clock() - began < WAIT:
        sleep(PAUSE)
        why = busy(look())
    if not why:
        return
    has_gpu = bool(environment.machine()["gpus"]) if gpu is None else gpu
    if has_gpu and profile != "quick":
        raise CannotRun(f"{why}: a {profile} run on a GPU is not begun on it; end what runs there, or take the quick profile")
    say(f"{why}: the run goes on, and blocks that lose too much to others are thrown out and measured again")
