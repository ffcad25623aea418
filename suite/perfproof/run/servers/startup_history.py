"""How long servers took to be ready: this distinguishes a slow start from one that hangs.

Build, patches, model and arguments identify a start; its last few times are kept beside vLLM's own cache, which makes a second start faster
than the first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

KEPT = 8
"""How many times are kept for one kind of start."""
FIRST = 900.0
"""Seconds that an unknown start may take: on a GPU a first start compiles for minutes."""
LEAST, TIMES = 240.0, 5.0
"""A known start may take `TIMES` the longest earlier one, and at least `LEAST` seconds: a busy machine starts slowly."""


def start_key(*words: str) -> str:
    """The key that identifies a kind of start."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


class Starts:
    """The starts in a file; if the file can't be read or written, nothing is known, and nothing else happens."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def known(self, key: str) -> list[float]:
        """Seconds of the last starts of that kind, oldest first."""
        times = self._read().get(key, [])
        return [float(seconds) for seconds in times if isinstance(seconds, int | float)] if isinstance(times, list) else []

    def add(self, key: str, seconds: float) -> None:
        """Adds a start that became ready."""
        content = {**self._read(), key: [*self.known(key), round(seconds, 1)][-KEPT:]}
        draft = self._file.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(content))
            draft.replace(self._file)

    def _read(self) -> dict[str, object]:
        try:
            content = json.loads(self._file.read_text())
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


def patience(known: Sequence[float], most: float = FIRST) -> float:
    """Seconds to wait for a server whose earlier starts took `known`; `most` if there were none, and never more unless an earlier start
    took that long."""
    if not known:
        return most
    longest = max(known)
    return max(min(max(LEAST, TIMES * longest), most), 1.5 * longest)
