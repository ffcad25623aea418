"""Runs without a server: `vllm bench latency` and `vllm bench throughput`, one process per trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from perfproof.model.base.untrusted import line
from perfproof.model.scenarios.metrics import base_name, of_a_run
from perfproof.model.workloads import workload as workloads
from perfproof.model.workloads.document_parts import Flags, ModelDoc, WorkloadDoc, model_of
from perfproof.model.workloads.kind import Kind
from perfproof.model.workloads.workload import ModelWorkload, Profile

LEFT = frozenset(
    ["batch_latency", "duration", "output_throughput", "request_throughput", "total_token_throughput", "peak_memory", "peak_gpu_memory"]
)
"""The metrics of a run without a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineWorkload(ModelWorkload):
    """`vllm bench latency` or `vllm bench throughput`: one process per trial, without server and client. `arguments` are its flags without
    their dashes."""

    bench: Literal["latency", "throughput"]
    arguments: workloads.Flags
    kind: Literal["offline"] = "offline"

    @property
    def vllm_flags(self) -> Mapping[str, workloads.Flags]:
        return {"arguments": self.arguments}


class OfflineDoc(WorkloadDoc):
    kind: Literal["offline"]
    bench: Literal["latency", "throughput"]
    model: ModelDoc
    arguments: Flags = Field(default_factory=dict)

    @field_validator("arguments")
    @classmethod
    def _fixed_work(cls, arguments: Flags) -> Flags:
        if arguments.get("profile"):
            raise ValueError("profile: a profiled run is no measurement")
        return arguments

    def noun(self, profile: Profile, folder: Path | None, faults: list[str]) -> OfflineWorkload:
        return OfflineWorkload(bench=self.bench, model=model_of(self.model), arguments=self.arguments)


def _measures(name: str) -> bool:
    return of_a_run(name) and base_name(name) in LEFT


def _described(workload: Mapping[str, Any]) -> str:
    return f"vllm bench {line(workload.get('bench', ''))}"


OFFLINE = Kind(
    name="offline",
    document=OfflineDoc,
    judged_by="blocks",
    scope="end to end",
    measures=_measures,
    guessed_seconds=90.0,
    describe=_described,
    inapplicable=("client",),
)
