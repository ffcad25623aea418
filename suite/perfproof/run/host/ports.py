"""Ports of this machine: which are free, which are answered, and whose sockets listen there.

vLLM before 0.32 opens its port in a way (`SO_REUSEPORT`) that lets two servers of one user have the same port at once: the kernel then
deals the requests out to both, each answers `/health`, and a benchmark of the one measures both. So a port is ours only if every
socket that listens there is a socket of our processes.
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
"""Where free ports are looked for: below those that Linux gives to outgoing connections, one of which could take ours meanwhile."""
LISTENING = "0A"
"""The state of a listening socket in `/proc/net/tcp`."""


def free_port() -> int:
    """A port that nothing listens on, and that could be listened on, at this moment."""
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
    """Whether anything accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0


def shared_with_others(port: int, ours: Iterable[int]) -> bool:
    """Whether a socket listens on the port that none of the processes `ours` (by number) holds; False where the machine doesn't tell."""
    listening = _listening(port)
    return bool(listening) and bool(listening - {inode for pid in ours for inode in _sockets(pid)})


def _listening(port: int) -> set[str]:
    """The inodes of the sockets that listen on the port, on any address."""
    found = set()
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        for line in _lines(table)[1:]:
            words = line.split()
            if words[3] == LISTENING and int(words[1].rpartition(":")[2], 16) == port:
                found.add(words[9])
    return found


def _sockets(pid: int) -> set[str]:
    """The inodes of the sockets that a process has open."""
    found = set()
    with contextlib.suppress(OSError):  # the process has ended meanwhile
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):  # this file was closed meanwhile: a connection that ends says nothing of the other sockets
                target = os.readlink(entry.path)
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    return found


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text().splitlines()
    except OSError:
        return []
