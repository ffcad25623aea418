"""Turns that the trials of a block take, so that only one of them runs at a time: whose turn it is runs, the others wait.

A machine whose speed changes changes it for all of them then: their n-th rounds lie milliseconds apart. All run on one processor. The
runner gives the turns, over a socket to each trial; a trial passes its turn on behind every timed round, and leaves where its tests end. It
goes on by itself where the runner is gone. `Turns.install` makes the rounds of pytest-benchmark take turns. It imports the standard
library alone.

Before the first round of a test all trials set it up, one after another, and then all evict the processor's own caches: the last to set
up would have its data in them, and none of the others. A trial that comes to a test before the others waits there.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

EVICTION_BYTES = 32 << 20
"""Bytes that fill the caches that a processor has to itself, several times over. A cache that processors share may be larger: what stays in
it is as near to one trial as to another."""
CACHE_LINE_BYTES = 64
"""Bytes of a line of a cache, or less."""
PASSES = 4
"""How often these bytes are read: caches keep for a while what was used often."""
TURN = b"."
"""What the runner says to the trial whose turn it is."""
PASS, BEGIN = b".", b"|"
"""What a trial says as its turn ends: that it goes on with the next, or that it is about to begin a test, whose number follows."""
TEST_NUMBER = struct.Struct(">I")
"""The number of a test, as a trial says it."""


class Turns:
    """The turns of one trial. `address` is the path of the runner's socket, `place` the trial's number in the block, `processor` where all
    of them run (None: anywhere). `test_number` says which of the trial's tests runs, counted from 0."""

    def __init__(self, address: str, place: int, processor: int | None, test_number: Callable[[], int]) -> None:
        self._test_number = test_number
        self._last_test = -1
        if processor is not None:
            os.sched_setaffinity(0, {processor})
        self._filler = b"\1" * EVICTION_BYTES  # of zeros a system may keep a single page
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(address)
        self._socket.sendall(bytes([place]))

    def take(self) -> None:
        """Waits for its turn."""
        self._socket.recv(1)

    def pass_on(self, word: bytes = PASS) -> None:
        """Lets the others run, and waits for its next turn."""
        with contextlib.suppress(OSError):  # the runner is gone, and with it the others
            self._socket.sendall(word)
            self.take()

    def leave(self) -> None:
        """Gives its place up, also where a process that a benchmark has started holds the socket open."""
        with contextlib.suppress(OSError):  # the runner is gone
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def begin(self) -> None:
        """Lets the others set up the test if it has not begun, and has all of them begin with caches that hold nothing of it."""
        if (test := self._test_number()) != self._last_test:
            self._last_test = test
            self.pass_on(BEGIN + TEST_NUMBER.pack(test))
            self._evict_caches()
            self.pass_on()

    def _evict_caches(self) -> None:
        for _ in range(PASSES):
            _ = self._filler[::CACHE_LINE_BYTES]

    def install(self) -> None:
        """From here on every timed round passes the turn on."""
        from pytest_benchmark.fixture import BenchmarkFixture

        made = BenchmarkFixture._make_runner

        def make_runner(fixture: Any, *given: Any) -> Callable[..., Any]:
            run = made(fixture, *given)

            def turn(*asked: Any, **named: Any) -> Any:
                self.begin()
                try:
                    return run(*asked, **named)
                finally:
                    self.pass_on()

            return turn

        BenchmarkFixture._make_runner = make_runner
