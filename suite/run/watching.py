"""A server looked at from outside while it is measured: its counters, its CPU time, its memory, that it lives and works."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from suite.run import attest
from suite.run.server import Server, ServerEnded, cpu_seconds, resident

STALLED = 180.0
"""Seconds without CPU time in the server's processes, during a measurement, after which it is taken to hang."""
IDLE = 0.02
"""CPU seconds below which a server is taken not to have worked."""
COUNTERS: Mapping[str, str] = {
    "prompt_tokens": "vllm:prompt_tokens_total",
    "generation_tokens": "vllm:generation_tokens_total",
    "prefix_cache_hits": "vllm:prefix_cache_hits_total",
    "preemptions": "vllm:num_preemptions_total",
}
"""What the arms of a block must have done alike, by the server's own count, warm-ups included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What a server has done so far: its own counters, the calls that its processes counted, their CPU seconds."""

    counters: Mapping[str, int]
    calls: Mapping[str, int]
    cpu_seconds: float


def moment_of(server: Server) -> Moment:
    """Reads everything now; counters that the server does not have are left out."""
    page = server.counters()
    return Moment(
        counters={name: round(page[key]) for name, key in COUNTERS.items() if key in page},
        calls=attest.total(attest.read_counts(file) for file in server.launch.attest.glob("*.counts")),
        cpu_seconds=cpu_seconds(server.processes()),
    )


def between(before: Moment, after: Moment) -> Moment:
    """What was done from one moment to the other: a shared server counts over its whole life."""
    return Moment(
        counters={name: count - before.counters.get(name, 0) for name, count in after.counters.items()},
        calls={name: count - before.calls.get(name, 0) for name, count in after.calls.items()},
        cpu_seconds=after.cpu_seconds - before.cpu_seconds,
    )


class Watcher:
    """Looks at a server now and then, at under a millisecond a look; `peak` is the most resident memory seen, in bytes."""

    def __init__(self, server: Server, stalled: float = STALLED) -> None:
        self.server = server
        self.stalled = stalled
        self._processes = server.processes()
        self.peak = resident(self._processes)
        self._cpu = cpu_seconds(self._processes)
        self._moved = time.monotonic()

    def look(self) -> None:
        """Raises `ServerEnded` if the server has ended or hangs."""
        self.server.check_alive()
        self.peak = max(self.peak, resident(self._processes))
        cpu, now = cpu_seconds(self._processes), time.monotonic()
        if cpu - self._cpu > IDLE:
            self._cpu, self._moved = cpu, now
        elif now - self._moved > self.stalled:
            raise ServerEnded(
                f"arm {self.server.arm}: the server hangs: no CPU time for {self.stalled:.0f} s in the midst of a measurement"
            )
