"""Who counts a feature of a build at present: one command each, and the others wait for it or count something else meanwhile.

The operating system frees a claim when its process dies, however it dies. A file beside it says which process has it, and since when.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from pathlib import Path

from filelock import FileLock, Timeout

FOLDER = ".claims"
"""The folder of claims, beside the kept counts."""


class Claims:
    """The claims of one command on the features of one kept count."""

    def __init__(self, kept: Path) -> None:
        self._folder, self._stem = kept.parent / FOLDER, kept.stem
        self._held: dict[str, FileLock] = {}

    def take(self, feature: str) -> bool:
        """Claims a feature, unless another command has it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._file(feature, "lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return False
        self._held[feature] = lock
        with contextlib.suppress(OSError):
            self._file(feature, "holder").write_text(json.dumps({"pid": os.getpid(), "since": time.time()}))
        return True

    def give_back(self, feature: str) -> None:
        """Frees a feature; does nothing where it is not claimed."""
        if lock := self._held.pop(feature, None):
            self._file(feature, "holder").unlink(missing_ok=True)
            lock.release()

    def close(self) -> None:
        """Frees all."""
        for feature in list(self._held):
            self.give_back(feature)

    def holder(self, feature: str) -> str:
        """Who has a feature, in words: the process and for how long. It may just have begun, or ended."""
        try:
            said = json.loads(self._file(feature, "holder").read_text())
            return f"process {int(said['pid'])}, for {_span(time.time() - float(said['since']))} now"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"

    def _file(self, feature: str, kind: str) -> Path:
        return self._folder / f"{self._stem}-{re.sub(r'[^A-Za-z0-9]+', '-', feature)}.{kind}"


def _span(seconds: float) -> str:
    return f"{max(0.0, seconds):.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
