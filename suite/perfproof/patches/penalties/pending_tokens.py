"""Tokens that the output lists still lack: they are counted on the device, but their places on the host hold placeholders.

Upstream waits at every step until the tokens of the step before have arrived on the host, and writes them over
their placeholders. Here they are written once they have certainly arrived: many steps at once, before any other
code reads the lists. A token is only written over the placeholder at which it was counted: if that place is gone,
because tokens were discarded, nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

PLACEHOLDER = -1
LIMIT = 32
"""The most steps that may be pending; then all are written."""


class Ledger:
    """Steps whose tokens the lists don't hold yet, oldest first."""

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self._steps = 0

    def __len__(self) -> int:
        return self._steps

    @property
    def full(self) -> bool:
        return self._steps >= LIMIT

    def owe(self, owners: Sequence[list[int]], places: Sequence[int], arriving: Any, event: Any) -> None:
        """Notes a step: the last element of `owners[i]` awaits `arriving[places[i], 0]`, there once `event` has happened.

        `arriving` is an integer tensor `[rows of the step before, 1]` on the host; a place of -1 is no place. Both sequences are
        kept and must not change.
        """
        last = self._runs[-1] if self._runs else None
        if last is None or last.owners is not owners or last.places is not places or last.arriving[0].shape != arriving.shape:
            last = Run(owners, places)
            self._runs.append(last)
        last.arriving.append(arriving)
        last.event = event
        self._steps += 1

    def pay(self) -> list[list[int]]:
        """Writes all pending tokens; returns the lists for which a token was invalid, and lost its place."""
        runs, self._runs, self._steps = self._runs, [], 0
        lost: dict[int, int] = {}
        short: list[list[int]] = []
        for run in runs:
            for out, start, tokens in run.due():
                missing = write(out, start - lost.get(id(out), 0), tokens)
                if missing:
                    lost[id(out)] = lost.get(id(out), 0) + missing
                    short.append(out)
        return short


class Run:
    """Consecutive steps over the same lists in the same places: each list got one token per step."""

    def __init__(self, owners: Sequence[list[int]], places: Sequence[int]) -> None:
        self.owners = owners
        self.places = places
        self.starts = [len(out) - 1 for out in owners]
        self.arriving: list[Any] = []
        self.event: Any = None

    def due(self) -> list[tuple[list[int], int, list[int]]]:
        """Each list, where its first placeholder was, and its tokens; waits for the last copy, which ends after all others."""
        self.event.synchronize()
        table = np.concatenate([step.numpy() for step in self.arriving], axis=1).tolist()
        return [(out, self.starts[row], table[self.places[row]]) for row, out in enumerate(self.owners) if self.places[row] >= 0]


def write(out: list[int], start: int, tokens: list[int]) -> int:
    """Writes tokens over the placeholders of `out` from `start` on; returns how many were invalid, and lost their places."""
    there = out[start : start + len(tokens)]
    tokens = tokens[: len(there)]
    if not there or there.count(PLACEHOLDER) != len(there):
        return 0
    known = [token for token in tokens if token != PLACEHOLDER]
    out[start : start + len(there)] = known
    return len(there) - len(known)
