"""A two-way channel to a program that was started."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Mapping
from typing import Any


class Channel:
    """Messages to and from a program, one JSON object per line, over its own two pipes.

    The program finds their numbers in `PERFPROOF_CHANNEL` ("reading,writing").
    """

    def __init__(self) -> None:
        self._their_reader, self._writer = os.pipe()
        self._reader, self._their_writer = os.pipe()
        self._buffer = b""

    @property
    def theirs(self) -> tuple[int, int]:
        return (self._their_reader, self._their_writer)

    def started(self) -> None:
        """Closes the program's ends in this process, so that its death shows here."""
        for end in self.theirs:
            os.close(end)

    def send(self, message: Mapping[str, Any]) -> None:
        """Raises `BrokenPipeError` if the program is gone."""
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self._writer, data) :]

    def receive(self, timeout: float) -> dict[str, Any] | None:
        """The next message; None after `timeout` seconds. Raises `EOFError` if the program is gone."""
        deadline = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._reader], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            data = os.read(self._reader, 65536)
            if not data:
                raise EOFError("the program has closed its channel")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)
