"""Gives turns to the trials of a block that run at the same time, and reads their rounds side by side.

The machine's speed may change many times in a block. Where the arms' rounds alternate, it changes for all of them, so a round over the
geometric mean of all arms' rounds of the same turn does not follow it. Who begins changes from turn to turn: a round behind one's own finds
its data in the caches, one behind another's the branches of just such a round predicted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from statistics import geometric_mean, median
from types import TracebackType
from typing import Any

from perfproof.builds.processes import temp_files
from perfproof.child.turns import BEGIN, TEST_NUMBER, TURN
from perfproof.model.base.errors import CannotRun
from perfproof.run.kinds.micro.micro_result import Reading


class TurnTaking:
    """The turns of so many trials, in their order; a context, which ends them. A trial that ends is left out from then on. One that reaches
    a new test waits until all others have reached one; then those at the earliest test go on.

    Raises `CannotRun` where the folder for temporary files has too long a path for a socket.
    """

    def __init__(self, trials: int, processor: int | None) -> None:
        self._trials, self._processor = trials, processor
        self._folder = temp_files.directory()
        self._address = os.path.join(self._folder.name, "turns")
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            self._listener.bind(self._address)
        except OSError as error:
            self._folder.cleanup()
            raise CannotRun(f"{self._address}: no socket can be made there: {error}; set TMPDIR to a short path, such as /tmp") from error
        self._listener.listen(2 * trials)
        self._joined: dict[int, socket.socket] = {}
        self._held: dict[socket.socket, float] = {}
        self._thread = threading.Thread(target=self._give, daemon=True)

    def __enter__(self) -> TurnTaking:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for one in (self._listener, *list(self._joined.values())):
            with contextlib.suppress(OSError):  # it was not connected
                one.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for one in (self._listener, *self._joined.values()):
            one.close()
        self._folder.cleanup()

    def order(self, place: int) -> dict[str, Any]:
        """What the order for the trial of that place says of its turns."""
        return {"address": self._address, "place": place, "processor": self._processor}

    def ended(self, place: int) -> None:
        """Lets the others go on, also if that trial ended before it could take a turn."""
        if (joined := self._joined.get(place)) is not None:
            with contextlib.suppress(OSError):  # it left
                joined.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as instead:
            instead.connect(self._address)
            instead.sendall(bytes([place]))

    @property
    def held(self) -> Mapping[int, float]:
        """The seconds for which each trial had the turn, by its place."""
        return {place: self._held.get(one, 0.0) for place, one in self._joined.items()}

    def _give(self) -> None:
        with contextlib.suppress(OSError):  # it was ended meanwhile
            while len(self._joined) < self._trials:
                joined, _ = self._listener.accept()
                place = joined.recv(1)
                if place and place[0] not in self._joined:
                    self._joined[place[0]] = joined
                else:
                    joined.close()
            there = [self._joined[place] for place in sorted(self._joined)]
            waiting_at: dict[socket.socket, int] = {}
            while there:
                if len(waiting_at) == len(there):
                    first = min(waiting_at.values())
                    waiting_at = {one: test for one, test in waiting_at.items() if test != first}
                for one in [one for one in there if one not in waiting_at]:
                    began = time.monotonic()
                    left, test = _give_turn(one)
                    self._held[one] = self._held.get(one, 0.0) + time.monotonic() - began
                    if left:
                        there.remove(one)
                    elif test is not None:
                        waiting_at[one] = test
                there = [*there[1:], *there[:1]]


def _give_turn(one: socket.socket) -> tuple[bool, int | None]:
    """Gives a trial a turn and waits until it ends it; returns whether it left, and the number of the test that it is about to begin."""
    try:
        one.sendall(TURN)
        said = one.recv(1)
        test = one.recv(TEST_NUMBER.size, socket.MSG_WAITALL) if said == BEGIN else b""
    except OSError:
        return True, None
    if not said or (said == BEGIN and len(test) < TEST_NUMBER.size):
        return True, None
    return False, TEST_NUMBER.unpack(test)[0] if test else None


def processor_of(number: int) -> int | None:
    """The processor that the trials of a block run on: another for every block, as far as they go."""
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return usable[number % len(usable)] if usable else None


def side_by_side(readings: Sequence[Reading]) -> list[Reading]:
    """The readings of a block's trials whose rounds took turns.

    A window is as many consecutive turns as there are trials, so each trial has every place in it once. A metric is the median, over all
    windows, of the geometric mean of the trial's rounds over that of all trials' rounds, times the median of the latter (seconds). Where a
    trial timed more rounds than another, those beyond the other's are left out, and a warning says so.

    Source: none; of two trials the ratio of the values is the median ratio of their rounds, two turns at a time.
    """
    found = [one for one in readings if not one.reason]
    shared = [name for name in (found[0].rounds if len(found) > 1 else ()) if all(one.rounds.get(name) for one in found)]
    counts = {name: [len(one.rounds[name]) for one in found] for name in shared}
    windows = [{name: _moving_geometric_means(one.rounds[name][: min(counts[name])], len(found)) for name in shared} for one in found]
    warnings = [_uneven(name, counts[name]) for name in shared if len(set(counts[name])) > 1]
    of_all = {name: [geometric_mean(window) for window in zip(*(own[name] for own in windows), strict=True)] for name in shared}

    def steadied(one: Reading, own: Mapping[str, Sequence[float]]) -> Reading:
        values = {
            name: median(took / mean for took, mean in zip(own[name], means, strict=True)) * median(means) for name, means in of_all.items()
        }
        return dataclasses.replace(one, measurements={**one.measurements, **values}, warnings=[*one.warnings, *warnings])

    steady = map(steadied, found, windows)
    return [one if one.reason else next(steady) for one in readings]


def _moving_geometric_means(rounds: Sequence[float], length: int) -> list[float]:
    """The geometric mean of each window of `length` rounds; of all where they are fewer."""
    length = min(length, len(rounds))
    return [geometric_mean(rounds[start : start + length]) for start in range(len(rounds) - length + 1)]


def _uneven(name: str, counts: Sequence[int]) -> str:
    told = " and ".join(f"{count:,}" for count in counts)
    return f"{name}: the arms timed {told} rounds; the first {min(counts):,} of each are held side by side (benchmark.pedantic fixes them)"
