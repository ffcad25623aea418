"""Microbenchmarks: a benchmark of `suite/perfproof/bench`, with all its cases in one trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from perfproof.model.base.untrusted import line
from perfproof.model.base.yaml_io import shown
from perfproof.model.scenarios.metrics import of_rounds
from perfproof.model.workloads.document_parts import Growing, Name, ScalarOrNone, WorkloadDoc
from perfproof.model.workloads.kind import Kind
from perfproof.model.workloads.workload import Profile, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroWorkload(Workload):
    """A microbenchmark of `suite/perfproof/bench`; every entry of `cases` overrides some of its parameters. `count_at` says how large
    parameters are at most in a round whose work is counted."""

    bench: str
    parameters: Mapping[str, Any]
    cases: tuple[Mapping[str, Any], ...]
    kind: Literal["micro"] = "micro"
    count_at: Mapping[str, int] = field(default_factory=dict)

    @property
    def benchmark(self) -> str:
        return self.bench

    @property
    def sizes(self) -> int:
        return len(self.cases)


def _one_case() -> list[dict[str, ScalarOrNone]]:
    return [{}]


class MicroDoc(WorkloadDoc, Growing):
    LATER = frozenset({"count_at"})

    kind: Literal["micro"]
    bench: Name
    parameters: dict[Name, ScalarOrNone | list[ScalarOrNone]] = Field(default_factory=dict)
    cases: Annotated[list[dict[Name, ScalarOrNone]], Field(min_length=1)] = Field(default_factory=_one_case)
    count_at: dict[Name, int] | None = None

    def noun(self, profile: Profile, folder: Path | None, faults: list[str]) -> MicroWorkload:
        return MicroWorkload(bench=self.bench, parameters=self.parameters, cases=tuple(self.cases), count_at=self.count_at or {})

    def unsatisfiable(self, metrics: Sequence[str], blocks: int | None) -> Iterator[str]:
        """Equal cases: their values would have the same name."""
        for place, case in enumerate(self.cases):
            if case in self.cases[:place]:
                yield f"workload.cases.{place}: {shown(case)} occurs twice, also as workload.cases.{self.cases.index(case)}"


def _described(workload: Mapping[str, Any]) -> str:
    return f"microbenchmark {line(workload.get('bench', ''))}"


MICRO = Kind(
    name="micro",
    document=MicroDoc,
    judged_by="blocks",
    scope="part",
    measures=of_rounds,
    own_metrics=True,
    guessed_seconds=8.0,
    describe=_described,
    inapplicable=("server_arguments", "client"),
)
