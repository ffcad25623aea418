"""Turns that the trials of a block take, so that only one of them runs at a time: whose turn it is runs, the others wait.

A machine whose speed changes changes it for all of them then: their n-th rounds lie milliseconds apart. All run on one processor. The
runner gives the turns, over a socket to each trial; a trial passes its turn on behind every timed round, and leaves where its tests end. It
goes on by itself where the runner is gone. `Turns.install` makes the rounds of pytest-benchmark take turns. It imports the standard
library alone.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from typing import Any


class Turns:
    """The turns of one trial. `address` is the path of the runner's socket, `place` the trial's number in the block, `processor` where all
    of them run (None: anywhere)."""

    def __init__(self, address: str, place: int, processor: int | None) -> None:
        if processor is not None:
            os.sched_setaffinity(0, {processor})
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(address)
        self._socket.sendall(bytes([place]))

    def take(self) -> None:
        """Waits for its turn."""
        self._socket.recv(1)

    def pass_on(self) -> None:
        """Lets the others run, and waits for its next turn."""
        with contextlib.suppress(OSError):  # the runner is gone, and with it the others
            self._socket.sendall(b".")
            self.take()

    def leave(self) -> None:
        """Gives its place up."""
        self._socket.close()

    def install(self) -> None:
        """From here on every timed round passes the turn on."""
        from pytest_benchmark.fixture import BenchmarkFixture

        made = BenchmarkFixture._make_runner

        def make_runner(fixture: Any, *given: Any) -> Callable[..., Any]:
            run = made(fixture, *given)

            def turn(*asked: Any, **named: Any) -> Any:
                try:
                    return run(*asked, **named)
                finally:
                    self.pass_on()

            return turn

        BenchmarkFixture._make_runner = make_runner
