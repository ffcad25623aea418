"""Counts the instructions that processes retire, if the machine can: they depend neither on the clock nor on other load.

There is one counter per thread through `perf_event_open(2)`, for user mode only; the threads and processes that it starts inherit it. Most
virtual machines count nothing; then there is no number, but a reason.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import struct
from collections.abc import Callable, Iterable, Sequence
from io import FileIO
from pathlib import Path

SYSCALLS = {"x86_64": 298, "aarch64": 241}
"""The number of `perf_event_open` by machine."""
ATTRIBUTES = 112
"""Bytes of `perf_event_attr`, version 5."""
HARDWARE, INSTRUCTIONS = 0, 1
INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
WHY = {
    errno.ENOENT: "this machine's processor gives no instruction counts (like most virtual ones)",
    errno.EOPNOTSUPP: "this machine's processor gives no instruction counts (like most virtual ones)",
    errno.EACCES: "the kernel does not let ordinary users count (kernel.perf_event_paranoid)",
    errno.EPERM: "the kernel does not let ordinary users count (kernel.perf_event_paranoid)",
    errno.EMFILE: "too few open files are allowed for one counter per thread (ulimit -n)",
}

Open = Callable[[int], int]


def open_counter(thread: int, *, inherit: bool = True) -> int:
    """A file descriptor that from now on counts the instructions of a thread (0: the calling one), and of what it starts; raises
    `OSError`."""
    number = SYSCALLS.get(platform.machine())
    if number is None or os.name != "posix":
        raise OSError(errno.EOPNOTSUPP, "unknown machine")
    flags = (INHERIT if inherit else 0) | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR
    attributes = struct.pack("<IIQQQQQ", HARDWARE, ATTRIBUTES, INSTRUCTIONS, 0, 0, 0, flags).ljust(ATTRIBUTES, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = int(libc.syscall(number, ctypes.create_string_buffer(attributes, ATTRIBUTES), thread, -1, -1, 0))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


def threads(pids: Iterable[int], proc: Path = Path("/proc")) -> list[int]:
    """The threads of these processes, without those that have ended meanwhile."""
    ids: list[int] = []
    for pid in pids:
        with contextlib.suppress(OSError):
            ids += [int(entry.name) for entry in (proc / str(pid) / "task").iterdir()]
    return ids


class Instructions:
    """Counts from its creation to `stop`. `why` is the reason if there is no number, else ""."""

    def __init__(
        self, pids: Iterable[int], *, opened: Open = open_counter, listed: Callable[[Iterable[int]], Sequence[int]] = threads
    ) -> None:
        self.why = ""
        self._counters: list[FileIO] = []
        for thread in listed(pids):
            try:
                self._counters.append(FileIO(opened(thread)))
            except OSError as error:
                if error.errno != errno.ESRCH:
                    self._give_up(error)
                    return

    def _give_up(self, error: OSError) -> None:
        self.why = _reason(error)
        self.stop()

    def stop(self) -> int | None:
        """The instructions since the start; None where the machine does not count them."""
        counted = 0
        for counter in self._counters:
            counted += struct.unpack("<Q", counter.read(8))[0]
            counter.close()
        counters, self._counters = self._counters, []
        return counted if counters and not self.why else None


class OfChildren:
    """Counts what the calling thread starts from its creation to `stop`: what it and all that it starts retire, less its own. `why` is the
    reason if there is no number, else ""."""

    def __init__(self, opened: Callable[[bool], int] = lambda inherit: open_counter(0, inherit=inherit)) -> None:
        self.why = ""
        self._counters: list[FileIO] = []
        for inherit in (True, False):
            try:
                self._counters.append(FileIO(opened(inherit)))
            except OSError as error:
                self.why = _reason(error)
                self._close()
                return

    def stop(self) -> int | None:
        """The instructions since the start; None where the machine does not count them."""
        both = [struct.unpack("<Q", counter.read(8))[0] for counter in self._counters]
        self._close()
        return max(0, both[0] - both[1]) if both else None

    def _close(self) -> None:
        for counter in self._counters:
            counter.close()
        self._counters = []


def _reason(error: OSError) -> str:
    return WHY.get(error.errno or 0, f"the kernel refuses: {error.strerror}")
