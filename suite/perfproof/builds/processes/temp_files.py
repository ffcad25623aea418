"""Where temporary files go. A machine that has no room for them says so before anything is begun, and with what to do."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from perfproof.model.base.errors import CannotRun

ELSEWHERE = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108 (only named to the user: these are the folders that Python looks at)
NAMED = ("TMPDIR", "TEMP", "TMP")
"""The variables that name a folder for temporary files, in the order in which Python asks them."""


def folder() -> Path:
    """The folder for temporary files: the one that TMPDIR names, else the system's, else the working folder, as Python has it.

    Raises `CannotRun` where a file can be written to none of them: they are full, or for reading alone.
    """
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise CannotRun(_nowhere("there is no room for temporary files")) from error


def directory() -> tempfile.TemporaryDirectory[str]:
    """A folder for the time of a `with`, in the folder for temporary files; raises as that does."""
    return tempfile.TemporaryDirectory(prefix="perfproof-", dir=folder())


def shared() -> Path:
    """The folder for temporary files that other programs of this machine find too: never the working folder for want of another."""
    found = folder()
    if found == Path.cwd() and str(found) not in _tried():
        raise CannotRun(_nowhere("there is no folder for temporary files that other runs of this machine would find"))
    return found


def _tried() -> list[str]:
    return [*(os.path.abspath(os.environ[name]) for name in NAMED if os.environ.get(name)), *ELSEWHERE]


def _nowhere(what: str) -> str:
    return f"{what}: nothing can be written to {', '.join(dict.fromkeys(_tried()))}; make room there, or name another folder with TMPDIR"
