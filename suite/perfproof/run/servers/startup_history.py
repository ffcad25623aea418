"""How long servers took to be ready: what tells a start that takes its time from one that hangs.

A start is known by its build, its arm's patches, its model and its arguments; the last few times are kept beside vLLM's own cache, which
is what makes a second start faster than the first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

KEPT = 8
"""Starts of one kind that are remembered."""
FIRST = 900.0
"""Seconds that a start may take of which nothing is known: on a GPU a first one compiles for minutes."""
LEAST, TIMES = 240.0, 5.0
"""A known start may take so many times the longest of those before, and at least so many seconds: a busy machine starts slowly."""


def start_key(*words: str) -> str:
    """What a start is known by."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


class Starts:
    """The starts that a file remembers; a file that can't be read or written remembers nothing, and costs nothing but that."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def known(self, key: str) -> list[float]:
        """Seconds of the last starts of that kind, oldest first."""
        found = self._read().get(key, [])
        return [float(seconds) for seconds in found if isinstance(seconds, int | float)] if isinstance(found, list) else []

    def add(self, key: str, seconds: float) -> None:
        """Remembers a start that became ready."""
        said = {**self._read(), key: [*self.known(key), round(seconds, 1)][-KEPT:]}
        draft = self._file.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(said))
            draft.replace(self._file)

    def _read(self) -> dict[str, object]:
        try:
            said = json.loads(self._file.read_text())
        except (OSError, ValueError):
            return {}
        return said if isinstance(said, dict) else {}


def patience(known: Sequence[float], most: float = FIRST) -> float:
    """Seconds to wait for a server whose earlier starts took `known`; `most` where there were none, and never more than it
    unless a start was seen to take as long."""
    if not known:
        return most
    longest = max(known)
    return max(min(max(LEAST, TIMES * longest), most), 1.5 * longest)
