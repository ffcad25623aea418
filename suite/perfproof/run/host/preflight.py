"""The start of a run: alone on a quiet machine, or not at all.

If another run holds the machine, or the machine is busy, this run waits. It never measures beside another run. On a busy machine the quick
profile runs, and other profiles with --anyway, with a warning. Counts need no quiet machine: the executor may run for them all the same.
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
"""Seconds between two looks; a look takes a second."""

Say = Callable[[str], None]


class MachineBusy(CannotRun):
    """The machine is too busy for times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """`what` describes this run to another run that has to wait; `wait` is how many seconds to wait for a free and quiet machine; `anyway`
    starts at once on a busy one."""

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
    """Waits up to `wait` seconds for a quiet machine. Then `quick` continues with a warning; `standard` and `thorough` raise `MachineBusy`,
    because a long measurement does not start on a busy machine. With `anyway` every profile continues at once, with the warning.

    `look` gives the share of CPU time that other programs take now.
    """
    if not (why := busy(look())):
        return
    if wait > 0 and not anyway:
        say(f"{why}; waiting up to {wait:.0f} s for it to become quiet (--wait 0 does not wait)")
    began = clock()
    while why and not anyway and clock() - began < wait:
        sleep(PAUSE)
        why = busy(look())
    if not why:
        return
    if profile != "quick" and not anyway:
        raise MachineBusy(
            f"{why}: a {profile} run does not start on it; end what runs there, wait longer with --wait MINUTES, "
            "use the quick profile, or start anyway with --anyway"
        )
    say(f"{why}: the run continues, and blocks that lose too much to other programs are thrown out and measured again")
