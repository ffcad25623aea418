"""Folders beside the builds that nothing uses any more: every edit of a patch or benchmark leaves one, and nobody asks for it again.

A run that takes a folder marks it as used now. A new folder of a kind is the occasion to look at the others: those that no run has taken
for `DAYS` are removed, but for the newest `KEPT`. Marking and removing exclude each other: no run takes a folder that is about to go.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

DAYS = 30
"""Days without use after which a folder goes: longer than any run takes."""
KEPT = 4
"""Folders of a kind that stay, however old."""
PATIENCE = 30.0
"""Seconds to wait for another process that marks or removes."""


def taken(folder: Path) -> bool:
    """Whether the folder is there; if so, it is marked as used now."""
    with _alone(folder.parent), contextlib.suppress(OSError):
        os.utime(folder)
        return True
    return folder.is_dir()


def clean(builds: Path, prefix: str) -> list[str]:
    """Removes the unused folders whose names begin with the prefix; returns their names. One that can't be removed stays."""
    removed: list[Path] = []
    with _alone(builds) as held:
        folders = sorted((one for one in builds.glob(f"{prefix}*") if one.is_dir()), key=lambda one: -one.stat().st_mtime)
        oldest = time.time() - DAYS * 24 * 3600
        for folder in [one for one in folders[KEPT:] if one.stat().st_mtime < oldest] if held else ():
            with contextlib.suppress(OSError):
                gone = Path(tempfile.mkdtemp(prefix=".gone-", dir=builds))
                removed.append(folder.rename(gone / folder.name))
    for folder in removed:
        shutil.rmtree(folder.parent, ignore_errors=True)
    return [folder.name for folder in removed]


@contextmanager
def _alone(builds: Path) -> Iterator[bool]:
    """Holds the lock of these folders; False where another process does not let go of it, or nothing can be written there."""
    lock = FileLock(builds / ".locks" / "side-folders.lock")
    try:
        (builds / ".locks").mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=PATIENCE)
    except (OSError, Timeout):
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
