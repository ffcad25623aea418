"""How a run begins: alone on its machine, and on a quiet one, or not at all.

A machine that another run holds, or that is busy with something else, is waited for. Another run is never measured beside; a busy
machine is, by the quick profile and by whoever asks for it, with a warning.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from perfproof.analysis.trials.invalidation import busy
from perfproof.model.base.errors import CannotRun
from perfproof.model.scenarios.scenario import Profile
from perfproof.run.host import gpus, telemetry
from perfproof.run.host.machine_lock import WAIT, alone

PAUSE = 4.0
"""Seconds between two looks, each of a second."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """`what` is told to a run that is kept out; `wait` are seconds in which the machine may become free and quiet; `anyway` begins on a
    busy one at once."""

    what: str
    profile: Profile
    wait: float
    anyway: bool

    def alone(self, say: Say) -> AbstractContextManager[None]:
        """Holds the machine and its GPUs; see `run.host.machine_lock`."""
        return alone(self.what, say, gpus=gpus.uuids(), wait=self.wait)

    def settle(self, say: Say) -> None:
        """Waits for a quiet machine, or refuses; see `settle`."""
        settle(self.profile, say, wait=self.wait, anyway=self.anyway)


def settle(
    profile: Profile,
    say: Say,
    *,
    wait: float = WAIT,
    anyway: bool = False,
    look: Callable[[], float] = telemetry.in_use,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Waits up to `wait` seconds for a quiet machine. Then `quick` goes on with a warning; `standard` and `thorough` raise `CannotRun`:
    what is measured for long is not begun beside somebody else. With `anyway` every profile goes on at once, with the warning.

    `look` gives the share of CPU time that others take now.
    """
    if not (why := busy(look())):
        return
    if not anyway:
        say(f"{why}; waiting up to {wait:.0f} s for it to become quiet")
    began = clock()
    while why and not anyway and clock() - began < wait:
        sleep(PAUSE)
        why = busy(look())
    if not why:
        return
    if profile != "quick" and not anyway:
        raise CannotRun(
            f"{why}: a {profile} run is not begun on it; end what runs there, give it longer with --wait MINUTES, "
            "take the quick profile, or begin all the same with --anyway"
        )
    say(f"{why}: the run goes on, and blocks that lose too much to others are thrown out and measured again")
