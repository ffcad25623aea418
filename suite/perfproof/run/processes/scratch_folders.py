"""Temporary folders of a run, which are removed after it, however it ended.

Each folder has a lock beside it, which its maker holds; the operating system frees it when the maker dies, also by `kill -9`. So a folder
with a free lock has no owner, and the next run removes it.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from perfproof.builds.processes import temp_files

RUNNING = ".running"
"""The folder in a results folder for the temporary files of a run."""
SOCKETS = "sockets"
"""A link in a scratch folder to a folder in the system's own temporary one: the paths of sockets must be short."""
PREFIX = "perfproof-"


class Scratch:
    """A folder below `parent` that no other process touches; `close` removes it."""

    def __init__(self, parent: Path, name: str) -> None:
        parent.mkdir(parents=True, exist_ok=True)
        self.folder = parent / f"{name}-{uuid.uuid4().hex[:8]}"
        self._lock = FileLock(_lock_of(self.folder))
        self._lock.acquire(timeout=0)
        self.folder.mkdir()

    def sockets(self) -> Path:
        """A folder with a short path, for sockets; `close` removes it too."""
        link = self.folder / SOCKETS
        if not link.exists():
            link.symlink_to(tempfile.mkdtemp(prefix=PREFIX, dir=temp_files.folder()))
        return link.resolve()

    def close(self) -> None:
        """Removes the folder, and its parent if that is empty then."""
        _remove(self.folder)
        _lock_of(self.folder).unlink(missing_ok=True)
        self._lock.release()
        with suppress(OSError):
            self.folder.parent.rmdir()


def sweep(parent: Path) -> int:
    """Removes the folders of dead runs below `parent`; returns how many there were."""
    swept = 0
    for folder in [entry for entry in parent.glob("*") if entry.is_dir() and not entry.is_symlink()]:
        lock = FileLock(_lock_of(folder))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        _remove(folder)
        _lock_of(folder).unlink(missing_ok=True)
        lock.release()
        swept += 1
    if parent.is_dir():
        for lost in [file for file in parent.glob("*.lock") if not file.with_suffix("").exists()]:
            _unlock(lost)
        with suppress(OSError):
            parent.rmdir()
    return swept


def _unlock(file: Path) -> None:
    """Removes a lock file whose folder is gone, unless a process is about to make it."""
    lock = FileLock(file)
    with suppress(Timeout):
        lock.acquire(timeout=0)
        if not file.with_suffix("").exists():
            file.unlink(missing_ok=True)
        lock.release()


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".lock")


def _remove(folder: Path) -> None:
    link = folder / SOCKETS
    if link.is_symlink() and (target := link.readlink()).name.startswith(PREFIX) and target.parent == Path(tempfile.gettempdir()):
        shutil.rmtree(target, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
