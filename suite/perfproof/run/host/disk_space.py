"""Whether what a trial leaves can be written at all: a full disk, a spent quota, a limit on the size of files.

None of these says anything of the arm that met it. Where a trial's files are missing, its log may be missing for the same reason, so
the words of an error are not enough: the folder itself is tried.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping
from pathlib import Path

CAUSES: Mapping[int, str] = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk's quota is spent",
    errno.EFBIG: "files may not be as large as that (ulimit -f)",
}
"""What an error number means where something is written."""
INTERRUPTED = "interrupted from outside"
"""How the reason of a trial begins that was spoilt by what is none of its arm's doing."""
TRIED = 1 << 20
"""Bytes that are written to try a folder: more than a trial of a microbenchmark leaves."""


def no_room(folder: Path, reason: str) -> str:
    """Where a trial's folder takes no more files now: a sentence for a trial that does not count for that `reason`; else ""."""
    cause = unwritable(folder)
    return f"{INTERRUPTED}: {cause}: {reason}" if cause else ""


def unwritable(folder: Path) -> str:
    """Why a trial's files don't fit into the folder, as a clause; "" if they do. What else is wrong with it is not told."""
    probe = folder / f".room-{os.getpid()}"
    try:
        with open(probe, "wb") as file:
            file.write(bytes(TRIED))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return CAUSES.get(error.errno or 0, "")
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
    return ""
