"""Watches a server from outside while it is measured: its counters, CPU time and memory, and whether it lives and works.

A server that hangs differs from a slow one: it takes no CPU time at all, or takes it and makes no token.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from perfproof.run.processes import attestation
from perfproof.run.servers.server import Patience, Server, ServerEnded, cpu_seconds, resident

STALLED = 90.0
"""Seconds without CPU time in the server's processes, during a measurement, after which it counts as hanging."""
FRUITLESS = 300.0
"""Seconds without a token, during a measurement, after which it counts as hanging even if it is busy."""
ASKED_EVERY = 30.0
"""Seconds between two reads of the server's own counters while it is measured: the page takes it milliseconds."""
IDLE = 0.02
"""CPU seconds below which a server counts as idle."""
COMPARED: Mapping[str, str] = {
    "requests": "vllm:request_success_total",
    "prompt_tokens": "vllm:prompt_tokens_total",
    "generation_tokens": "vllm:generation_tokens_total",
    "prefix_cache_hits": "vllm:prefix_cache_hits_total",
    "preemptions": "vllm:num_preemptions_total",
}
"""Counters that must be equal in the arms of a block, warm-ups included."""
INFORMATIVE: Mapping[str, str] = {
    "prefix_cache_queries": "vllm:prefix_cache_queries_total",
    "spec_decode_drafts": "vllm:spec_decode_num_drafts_total",
    "spec_decode_draft_tokens": "vllm:spec_decode_num_draft_tokens_total",
    "spec_decode_accepted_tokens": "vllm:spec_decode_num_accepted_tokens_total",
}
"""Counters that are recorded but need not be equal: the shares of cached prompts and of accepted drafts explain a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A server's work so far: its counters (compared and informative), the calls that its processes counted, in all and each by itself, and
    their CPU seconds."""

    counters: Mapping[str, int]
    informative: Mapping[str, int]
    calls: Mapping[str, int]
    calls_by_process: Mapping[str, Mapping[str, int]]
    cpu_seconds: float


def moment_of(server: Server) -> Moment:
    """Reads everything now; counters that the server lacks are left out."""
    page = server.counters()
    by_process = {file.stem: attestation.read_counts(file) for file in server.launch.attest.glob("*.counts")}
    return Moment(
        counters={name: round(page[key]) for name, key in COMPARED.items() if key in page},
        informative={name: round(page[key]) for name, key in INFORMATIVE.items() if key in page},
        calls=attestation.total(by_process.values()),
        calls_by_process=by_process,
        cpu_seconds=cpu_seconds(server.processes()),
    )


def between(before: Moment, after: Moment) -> Moment:
    """The work between two moments: a shared server counts over its whole life."""
    return Moment(
        counters=_grown(before.counters, after.counters),
        informative=_grown(before.informative, after.informative),
        calls=_grown(before.calls, after.calls),
        calls_by_process={name: _grown(before.calls_by_process.get(name, {}), calls) for name, calls in after.calls_by_process.items()},
        cpu_seconds=after.cpu_seconds - before.cpu_seconds,
    )


def _grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {name: count - before.get(name, 0) for name, count in after.items()}


class Watcher:
    """Looks at a server now and then, a millisecond each; `peak` is the most resident memory seen, in bytes."""

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
        """Whether it has processed or made a token since the last call."""
        page = self.server.counters()
        before, self._tokens = self._tokens, sum(page.get(COMPARED[name], 0.0) for name in ("prompt_tokens", "generation_tokens"))
        return self._tokens != before and bool(page)

    def _hangs(self, how: str) -> None:
        raise ServerEnded(f"arm {self.server.arm}: the server hangs: {how} during a measurement; the end of its log:\n{self.server.tail()}")
