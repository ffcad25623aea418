"""Functions for tests to count."""

from __future__ import annotations

import threading


def work(turns: int) -> int:
    """So many turns with a C call each."""
    total = 0
    for _ in range(turns):
        total += len("abc")
    return total


def still() -> None:
    """Does the same each time."""


def threaded() -> None:
    """Works here and in a thread."""
    other = threading.Thread(target=work, args=(3,))
    other.start()
    other.join()
    work(3)
