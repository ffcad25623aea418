"""Ports of this machine: which are free, which answer, and whose sockets listen on them.

vLLM before 0.32 opens its port with `SO_REUSEPORT`, so two servers of one user can have the same port: the kernel then spreads the requests
over both, each answers `/health`, and a benchmark of one measures both. So a port is ours only if every socket that listens on it belongs
to our processes.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
from collections.abc import Iterable
from pathlib import Path

HOST = "127.0.0.1"
CHOSEN = range(20_000, 32_000)
"""The range of ports to choose from: below those that Linux gives to outgoing connections, which could take ours meanwhile."""
LISTENING = "0A"
"""The state of a listening socket in `/proc/net/tcp`."""


def free_port() -> int:
    """A port on which nothing listens now, and on which a server could listen."""
    while True:
        port = random.SystemRandom().choice(CHOSEN)
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        if not answers(port):
            return port


def answers(port: int) -> bool:
    """Whether anything accepts connections on the port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0


def shared_with_others(port: int, ours: Iterable[int]) -> bool:
    """Whether a socket listens on the port that none of the processes `ours` (by number) holds; False where that is unknown."""
    listening = _listening(port)
    return bool(listening) and bool(listening - {inode for pid in ours for inode in _sockets(pid)})


def _listening(port: int) -> set[str]:
    """The inodes of the sockets that listen on the port, on any address."""
    inodes = set()
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        for line in _lines(table)[1:]:
            words = line.split()
            if words[3] == LISTENING and int(words[1].rpartition(":")[2], 16) == port:
                inodes.add(words[9])
    return inodes


def _sockets(pid: int) -> set[str]:
    """The inodes of the sockets that a process has open."""
    inodes = set()
    with contextlib.suppress(OSError):  # the process has ended meanwhile
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):  # this file was closed meanwhile; the other sockets are still there
                target = os.readlink(entry.path)
                if target.startswith("socket:["):
                    inodes.add(target[8:-1])
    return inodes


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text().splitlines()
    except OSError:
        return []
