"""Servers under load: `vllm serve`, measured by `vllm bench serve`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from perfproof.model.base.untrusted import line
from perfproof.model.scenarios.metrics import of_a_run
from perfproof.model.scenarios.scenario import LEAST_SECONDS, Dataset
from perfproof.model.workloads import workload as workloads
from perfproof.model.workloads.document_parts import (
    DatasetDoc,
    Flags,
    Growing,
    ModelDoc,
    WorkloadDoc,
    dataset_of,
    default_launches,
    model_of,
)
from perfproof.model.workloads.kind import Kind
from perfproof.model.workloads.workload import ModelWorkload, Profile

MOST_REQUESTS = 1_000_000
WARM_SECONDS = 2.0
"""With a request rate, so many seconds' worth of requests are the warm-ups."""
Launches: TypeAlias = Literal["shared", "blockwise", "fresh"]
"""How often servers start; a record's `how` is one of these words and "server"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeWorkload(ModelWorkload):
    """`vllm bench serve` against `vllm serve`.

    `client` are flags of
    `vllm bench serve` without their dashes. `launches` is `shared` (one server per arm serves all blocks),
    `blockwise` (one server per arm and block, those of a block started together)
    or `fresh` (one server per trial). The suite makes `dataset`; None if the client's flags name one.
    """

    server_arguments: tuple[str, ...]
    client: workloads.Flags
    requests: int
    warmups: int
    launches: Launches
    dataset: Dataset | None = None
    kind: Literal["serve"] = "serve"

    @property
    def vllm_words(self) -> Mapping[str, Sequence[str]]:
        return {"server_arguments": self.server_arguments}

    @property
    def vllm_flags(self) -> Mapping[str, workloads.Flags]:
        return {"client": self.client}

    @property
    def measured_whole(self) -> bool:
        return self.launches == "blockwise"

    @property
    def servers_together(self) -> bool:
        return self.launches != "fresh"

    @property
    def starts_servers(self) -> bool:
        return self.launches != "shared"

    def on_shared_servers(self) -> ServeWorkload:
        return dataclasses.replace(self, launches="shared")

    def doubts(self, profile: Profile, measured: Sequence[float]) -> Iterator[str]:
        """Warnings about too few warm-ups, and about trials that were too short so far."""
        wave, least = one_wave(self.requests, self.client), LEAST_SECONDS[profile]
        if wave is not None and self.warmups < wave:
            yield f"{self.warmups} warm-ups are less than one wave: {wave} requests run at once; leave out 'warmups', or set {wave}"
        if measured and min(measured) < least:
            more = requests_for(least, self.requests, min(measured), wave)
            short = f"its trials measured for {min(measured):.1f} s; {profile} needs {least:.0f} s"
            yield f"{short}: longer outputs, or 'requests: {more}'"


def arrival_rate(client: Mapping[str, str | int | float | bool]) -> float:
    """The most requests per second that the client sends with these flags; infinite if it sends all of them at once.

    A ramp counts with its highest rate; vLLM's client refuses a `request-rate` beside it.
    """
    try:
        rate = float(client.get("ramp-up-end-rps" if "ramp-up-strategy" in client else "request-rate", math.inf))
    except ValueError:  # the client's own parser will refuse it
        return math.inf
    return rate if math.isfinite(rate) else math.inf


def one_wave(requests: int, client: Mapping[str, str | int | float | bool]) -> int | None:
    """The most requests that run at once with these flags of the client.

    None if they arrive at a rate without `max-concurrency`: then it depends on how long each takes, which is unknown beforehand.
    """
    most = client.get("max-concurrency")
    if most is not None:
        return min(requests, int(most))
    return requests if math.isinf(arrival_rate(client)) else None


def default_warmups(requests: int, client: Mapping[str, str | int | float | bool]) -> int:
    """The default number of warm-ups: one wave; if the wave is unknown, the requests of two seconds, at least one.

    vLLM's client ignores the rate for warm-ups and sends them all at once. In the run, as many requests overlap as arrive while one is
    answered, in a second or a few. Two seconds' worth make a batch of about that size, not a much larger one.
    """
    wave = one_wave(requests, client)
    if wave is not None:
        return wave
    return min(requests, max(1, math.ceil(WARM_SECONDS * arrival_rate(client))))


def requests_for(seconds: float, requests: int, measured: float, wave: int | None) -> int:
    """The number of requests for a measurement of `seconds`, if `requests` took `measured` seconds; whole waves if the wave is known."""
    whole = wave or 1
    return whole * math.ceil(requests * seconds / max(measured, 1e-3) / whole)


class ServeDoc(WorkloadDoc, Growing):
    LATER = frozenset({"dataset"})

    kind: Literal["serve"]
    model: ModelDoc
    server_arguments: list[str] = Field(default_factory=list)
    client: Flags = Field(default_factory=dict)
    dataset: DatasetDoc | None = None
    requests: Annotated[int, Field(ge=1, le=MOST_REQUESTS)]
    warmups: Annotated[int, Field(ge=0, le=MOST_REQUESTS)] | None = None
    launches: Launches | None = None

    def noun(self, profile: Profile, folder: Path | None, faults: list[str]) -> ServeWorkload:
        return ServeWorkload(
            model=model_of(self.model),
            server_arguments=tuple(self.server_arguments),
            client=self.client,
            requests=self.requests,
            warmups=default_warmups(self.requests, self.client) if self.warmups is None else self.warmups,
            launches=self.launches or default_launches(profile),
            dataset=None if self.dataset is None else dataset_of(self.dataset),
        )


def _measures(name: str) -> bool:
    return of_a_run(name) and name != "batch_latency"


def _described(workload: Mapping[str, Any]) -> str:
    requests = workload.get("requests", "")
    return f"vllm bench serve, {f'{requests:,}' if type(requests) is int else line(str(requests))} requests a trial"


def _contradicted(data: Mapping[str, Any]) -> Iterator[str]:
    """Contradictions about launches: they are part of the question, because a verdict from one launch per arm must not count as more."""
    wanted = data["definition"]["workload"].get("launches") or default_launches(data["profile"])
    if data["how"] != f"{wanted} server":
        yield f"how: is {data['how'][:80]!r}, its definition sets {wanted!r} launches (profile {data['profile']!r})"


SERVE = Kind(
    name="serve",
    document=ServeDoc,
    judged_by="blocks",
    scope="end to end",
    measures=_measures,
    guessed_seconds=40.0,
    describe=_described,
    calls_vary="how requests fall into batches, and so how many steps they take, differs from trial to trial",
    contradicted=_contradicted,
)
