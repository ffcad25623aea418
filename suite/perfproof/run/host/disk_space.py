"""Whether a trial's files can be written at all: the disk may be full, the quota used up, the size of files limited.

These failures are not the arm's fault. If a trial's files are missing, its log may be missing for the same reason. So the text of an error
is not enough: a test file is written to the folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping
from pathlib import Path

from perfproof.model.records.record import INTERRUPTED

CAUSES: Mapping[int, str] = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk's quota is spent",
    errno.EFBIG: "files may not be as large as that (ulimit -f)",
}
"""What an error number means when a file is written."""
TRIED = 1 << 20
"""Bytes of the test file: more than the files of a microbenchmark's trial."""


def no_room(folder: Path, reason: str) -> str:
    """If a trial's folder takes no more files: a sentence for a trial that failed with that `reason`; else ""."""
    cause = unwritable(folder)
    return f"{INTERRUPTED}: {cause}: {reason}" if cause else ""


def unwritable(folder: Path) -> str:
    """Why a trial's files don't fit into the folder, as a clause; "" if they do. Other faults of the folder don't count."""
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
