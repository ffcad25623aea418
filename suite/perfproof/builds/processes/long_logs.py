"""Keeps what a program prints without end from filling the disk: of a long log the beginning and the end are kept.

While the program runs, the disk's blocks between the two are given back at each look (where the system and the file system can do that:
Linux, most local ones); the log's length stays. When it has ended, the log is written again, with a line that says how much is left out.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

BEGINNING = 16 * 2**20
END = 64 * 2**20
"""Bytes of a longer log that are kept."""
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
"""Modes of `fallocate` (linux/falloc.h)."""


def shorten(log: Path) -> None:
    """Leaves of a log that is too long its beginning and its end, whole lines where there are any, and how much was left out."""
    if _left_out(log) <= 0:
        return
    draft = log.with_suffix(log.suffix + ".short")
    with open(log, "rb") as file, open(draft, "wb") as kept:
        beginning = file.read(BEGINNING)
        beginning = beginning[: beginning.rfind(b"\n") + 1] or beginning
        place = file.seek(-END, os.SEEK_END)
        begun = file.readline(END // 2)
        place = file.seek(place + (len(begun) if begun.endswith(b"\n") else 0))
        said = f"[perfproof: {place - len(beginning):,} bytes of this output were left out here]\n"
        kept.write(beginning + (said if beginning.endswith(b"\n") else f"\n{said}").encode())
        shutil.copyfileobj(file, kept)
    draft.replace(log)


def give_back(log: Path) -> None:
    """Gives back the disk's blocks of what is left out of a log that a program still writes; nothing happens where that can't be."""
    length = _left_out(log)
    if length > 0 and sys.platform.startswith("linux"):
        descriptor = os.open(log, os.O_WRONLY)
        try:
            libc = ctypes.CDLL(None)
            libc.fallocate(descriptor, _KEEP_SIZE | _PUNCH_HOLE, ctypes.c_int64(BEGINNING), ctypes.c_int64(length))
        finally:
            os.close(descriptor)


def _left_out(log: Path) -> int:
    """Bytes between the beginning and the end of a log; not above 0 for one that is short enough, or not there."""
    return log.stat().st_size - BEGINNING - END if log.is_file() else 0
