"""The folder for temporary files. If the machine has no room for them, an error with a remedy comes before any work."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from perfproof.model.base.errors import CannotRun

ELSEWHERE = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108 (only named to the user: these are Python's candidates)
NAMED = ("TMPDIR", "TEMP", "TMP")
"""The variables that name a folder for temporary files, in Python's order."""


def folder() -> Path:
    """The folder for temporary files, by Python's rule: TMPDIR, else the system's, else the working folder.

    Raises `CannotRun` if none of them is writable: they are full, or read-only.
    """
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise CannotRun(_nowhere("there is no room for temporary files")) from error


def directory() -> tempfile.TemporaryDirectory[str]:
    """A temporary folder for a `with` block; raises as `folder` does."""
    return tempfile.TemporaryDirectory(prefix="perfproof-", dir=folder())


def shared() -> Path:
    """The folder for temporary files that other programs of this machine find too: never the working folder as a last resort."""
    place = folder()
    if place == Path.cwd() and str(place) not in _tried():
        raise CannotRun(_nowhere("there is no folder for temporary files that other runs of this machine would find"))
    return place


def _tried() -> list[str]:
    return [*(os.path.abspath(os.environ[name]) for name in NAMED if os.environ.get(name)), *ELSEWHERE]


def _nowhere(what: str) -> str:
    return f"{what}: nothing can be written to {', '.join(dict.fromkeys(_tried()))}; make room there, or name another folder with TMPDIR"
