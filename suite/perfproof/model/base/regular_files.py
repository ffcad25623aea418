"""Reads files that were found in a folder, not named by the user, only if they are regular files.

A read of a pipe would wait, and a device may never end.
"""

from __future__ import annotations

from pathlib import Path

from perfproof.model.base.errors import BadInput


def checked(path: Path) -> Path:
    """The path itself. Raises `BadInput` if it is a pipe, a socket or a device."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise BadInput(f"{path}: is a pipe or a device, not a file: remove it from the folder")
    return path


def content(path: Path) -> bytes:
    """The content of a file. Raises `BadInput` if it can't be read, or is not a regular file."""
    try:
        return checked(path).read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
