"""Files that were found in a folder, not named by anybody: read only if they are files.

A pipe would be waited for, and a device may never end.
"""

from __future__ import annotations

from pathlib import Path

from perfproof.model.base.errors import BadInput


def checked(path: Path) -> Path:
    """The path itself. Raises `BadInput` where it is a pipe, a socket or a device."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise BadInput(f"{path}: is a pipe or a device, and no file: take it out of the folder")
    return path


def content(path: Path) -> bytes:
    """All of a file. Raises `BadInput` where it can't be read, or is none."""
    try:
        return checked(path).read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
