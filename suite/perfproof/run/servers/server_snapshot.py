"""A server looked at from outside while it is measured: its counters, its CPU time, its memory, that it lives and works.

A server that hangs is told from one that works slowly: it takes no CPU time at all, or takes it and makes no token.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from perfproof.run.processes import attestation
from perfproof.run.servers.server import Patience, Server, ServerEnded, cpu_seconds, resident

STALLED = 90.0
"""Seconds without CPU time in the server's processes, during a measurement, after which it is taken to hang."""
FRUITLESS = 300.0
"""Seconds without a token, during a measurement, after which it is taken to hang however busy it is."""
ASKED_EVERY = 30.0
"""Seconds between two looks at the server's own counters while it is measured: a page of them costs it milliseconds."""
IDLE = 0.02
"""CPU seconds below which a server is taken not to have worked."""
COMPARED: Mapping[str, str] = {
    "requests": "vllm:request_success_total",
    "prompt_tokens": "vllm:prompt_tokens_total",
    "generation_tokens": "vllm:generation_tokens_total",
    "prefix_cache_hits": "vllm:prefix_cache_hits_total",
    "preemptions": "vllm:num_preemptions_total",
}
"""What the arms of a block must have done alike, by the server's own count, warm-ups included."""
TOLD: Mapping[str, str] = {
    "prefix_cache_queries": "vllm:prefix_cache_queries_total",
    "spec_decode_drafts": "vllm:spec_decode_num_drafts_total",
    "spec_decode_draft_tokens": "vllm:spec_decode_num_draft_tokens_total",
    "spec_decode_accepted_tokens": "vllm:spec_decode_num_accepted_tokens_total",
}
"""What is kept beside it: the shares of prompts found in the cache, and of drafts accepted, explain a time and need not be alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What a server has done so far: its counters (those compared, those told), the calls that its processes counted, their CPU seconds."""

    counters: Mapping[str, int]
    told: Mapping[str, int]
    calls: Mapping[str, int]
    cpu_seconds: float


def moment_of(server: Server) -> Moment:
    """Reads everything now; counters that the server does not have are left out."""
    page = server.counters()
    return Moment(
        counters={name: round(page[key]) for name, key in COMPARED.items() if key in page},
        told={name: round(page[key]) for name, key in TOLD.items() if key in page},
        calls=attestation.total(attestation.read_counts(file) for file in server.launch.attest.glob("*.counts")),
        cpu_seconds=cpu_seconds(server.processes()),
    )


def between(before: Moment, after: Moment) -> Moment:
    """What was done from one moment to the other: a shared server counts over its whole life."""
    return Moment(
        counters=_grown(before.counters, after.counters),
        told=_grown(before.told, after.told),
        calls=_grown(before.calls, after.calls),
        cpu_seconds=after.cpu_seconds - before.cpu_seconds,
    )


def _grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {name: count - before.get(name, 0) for name, count in after.items()}


class Watcher:
    """Looks at a server now and then, at a millisecond a look; `peak` is the most resident memory seen, in bytes."""

    def __init__(self, server: Server, stalled: float = STALLED, fruitless: float = FRUITLESS) -> None:
        self.server = server
        self._processes = server.processes()
        self.peak = resident(self._processes)
        self._cpu = cpu_seconds(self._processes)
        self._stalled, self._fruitless = Patience(stalled), Patience(fruitless, longest=2 * ASKED_EVERY)
        self._tokens = -1.0
        self._ask_at = time.monotonic() + ASKED_EVERY

    def look(self) -> None:
        """Raises `ServerEnded` if the server has ended, is stopped, or hangs."""
        self.server.check_alive()
        self.server.check_running(self._processes)
        self.peak = max(self.peak, resident(self._processes))
        cpu = cpu_seconds(self._processes)
        worked = cpu - self._cpu > IDLE
        if worked:
            self._cpu = cpu
        if self._stalled.over(worked):
            self._hangs(f"no CPU time for {self._stalled.seconds:.0f} s")
        if time.monotonic() >= self._ask_at:
            self._ask_at = time.monotonic() + ASKED_EVERY
            if self._fruitless.over(self._made_tokens()):
                self._hangs(f"it takes CPU time and has made no token for {self._fruitless.seconds:.0f} s")

    def _made_tokens(self) -> bool:
        """Whether it has taken in or given out a token since the last time that this was asked."""
        page = self.server.counters()
        before, self._tokens = self._tokens, sum(page.get(COMPARED[name], 0.0) for name in ("prompt_tokens", "generation_tokens"))
        return self._tokens != before and bool(page)

    def _hangs(self, how: str) -> None:
        raise ServerEnded(
            f"arm {self.server.arm}: the server hangs: {how} in the midst of a measurement; the end of its log:\n{self.server.tail()}"
        )
