"""Microbenchmarks, with all cases in one trial: one of `suite/perfproof/bench` by name, or any pytest-benchmark file by path."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from perfproof.model.base.untrusted import line
from perfproof.model.base.yaml_io import shown
from perfproof.model.scenarios.metrics import of_rounds
from perfproof.model.workloads.document_parts import Growing, Name, ScalarOrNone, WorkloadDoc
from perfproof.model.workloads.file_folder import FileFolder, read_files
from perfproof.model.workloads.kind import Kind
from perfproof.model.workloads.workload import Profile, Workload

BY_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}(/[a-z][a-z0-9_]{0,63})?")
"""A file of `suite/perfproof/bench` without its suffix, or of a room in it: `swap_states`, `scheduler/schedule`."""
NAME_OR_PATH = (
    "expected the name of a benchmark of perfproof's, such as swap_states or scheduler/schedule, "
    "or the path of a file, such as ../benchmarks/bench_mine.py"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroWorkload(Workload):
    """A microbenchmark; every entry of `cases` overrides some of its parameters. `count_at` says how large parameters are at most in a
    round whose work is counted; `counted_alone` that no other round matters; `alternate_rounds` that the arms' rounds alternate.

    `bench` is a name of `suite/perfproof/bench`, or of a file in the folder `files`.
    """

    bench: str
    parameters: Mapping[str, Any]
    cases: tuple[Mapping[str, Any], ...]
    kind: Literal["micro"] = "micro"
    count_at: Mapping[str, int] = field(default_factory=dict)
    files: FileFolder | None = None
    counted_alone: bool = False
    alternate_rounds: bool = False

    @property
    def benchmark(self) -> str:
        return self.bench if self.files is None else ""

    @property
    def benchmark_file(self) -> str:
        return os.path.join(self.files.path, self.bench) if self.files is not None and os.path.isabs(self.files.path) else ""

    @property
    def observed_as(self) -> tuple[str, ...]:
        asked = json.dumps([self.parameters, self.cases, dict(self.count_at)], sort_keys=True, default=str)
        digest = hashlib.sha256(asked.encode()).hexdigest()[:8]
        return (f"benchmark {self.bench} {digest}" if self.files is None else f"file {self.files.sha256[:16]} {self.bench} {digest}",)

    @property
    def sizes(self) -> int:
        return len(self.cases)

    @property
    def turn_taking_changes(self) -> Mapping[str, Any]:
        return {} if self.alternate_rounds else {"alternate_rounds": True}

    @property
    def measured_whole(self) -> bool:
        """Arms take turns, unless they only count."""
        return self.alternate_rounds and not self.counted_alone

    def for_counts(self) -> MicroWorkload:
        """The counted round of each case; a benchmark of the user's own decides itself what it runs."""
        return self if self.files is not None else dataclasses.replace(self, counted_alone=True)

    def counted_once(self, case: str) -> Mapping[str, Any]:
        return {"parameters": {**self.parameters, "rounds": 1}} if self.files is None else {}

    def kept(self, document: dict[str, Any]) -> dict[str, Any]:
        """The document; of a benchmark by path its name and the hash of its folder's files: what they say is part of the question."""
        return document if self.files is None else {**document, "bench": self.bench, "bench_sha256": self.files.sha256}


BENCH = "workload.bench"


def _one_case() -> list[dict[str, ScalarOrNone]]:
    return [{}]


class MicroDoc(WorkloadDoc, Growing):
    LATER = frozenset({"count_at", "bench_sha256", "alternate_rounds"})

    kind: Literal["micro"]
    bench: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    bench_sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    parameters: dict[Name, ScalarOrNone | list[ScalarOrNone]] = Field(default_factory=dict)
    cases: Annotated[list[dict[Name, ScalarOrNone]], Field(min_length=1)] = Field(default_factory=_one_case)
    count_at: dict[Name, int] | None = None
    alternate_rounds: bool = False

    def noun(self, profile: Profile, folder: Path | None, faults: list[str]) -> MicroWorkload:
        files = None if BY_NAME.fullmatch(self.bench) else _files_of(self.bench, self.bench_sha256, folder, faults)
        bench = self.bench if files is None else os.path.basename(self.bench)
        return MicroWorkload(
            bench=bench,
            parameters=self.parameters,
            cases=tuple(self.cases),
            count_at=self.count_at or {},
            files=files,
            alternate_rounds=self.alternate_rounds,
        )

    @field_validator("bench")
    @classmethod
    def _name_or_path(cls, bench: str) -> str:
        if not BY_NAME.fullmatch(bench) and not bench.endswith(".py"):
            raise ValueError(f"{NAME_OR_PATH}, got {shown(bench)}")
        return bench

    @model_validator(mode="after")
    def _only_a_path_has_files(self) -> MicroDoc:
        if BY_NAME.fullmatch(self.bench) and self.bench_sha256 is not None:
            raise ValueError("bench_sha256: only a benchmark that is named by its path has one")
        return self

    def unsatisfiable(self, metrics: Sequence[str], blocks: int | None) -> Iterator[str]:
        """Equal cases: their values would have the same name."""
        for place, case in enumerate(self.cases):
            if case in self.cases[:place]:
                yield f"workload.cases.{place}: {shown(case)} occurs twice, also as workload.cases.{self.cases.index(case)}"


def _files_of(named: str, sha256: str | None, folder: Path | None, faults: list[str]) -> FileFolder | None:
    """The folder of a benchmark that is named by its path: what lies beside it, it may import."""
    if folder is not None and not os.path.isfile(os.path.abspath(folder / os.path.expanduser(named))):
        faults.append(f"{BENCH}: {named}: there is no such file (paths are relative to the scenario file)")
        return None
    files = read_files(BENCH, os.path.dirname(named), sha256, folder, faults, named=False)
    if files and folder is not None and all(os.path.relpath(file, files.path) != os.path.basename(named) for file in files.files()):
        faults.append(f"{BENCH}: {named}: it is a link that leads out of its folder, or its name is hidden: name the file itself")
    return files


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
    inapplicable=("server_arguments", "client", "runner"),
)
