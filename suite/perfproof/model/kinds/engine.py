"""The work of vLLM's host, counted: an engine in one process goes through features of the matrix, and its Python is counted exactly.

A metric has a case for each feature, number of requests and phase: `python_instructions@decode, plain, 32 requests`. A scenario that names
it without a case means all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from perfproof.child.engine.features import FEATURES, NAMES, START
from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.base.yaml_io import shown
from perfproof.model.scenarios.metrics import METRICS, base_name
from perfproof.model.workloads.document_parts import Growing, WorkloadDoc
from perfproof.model.workloads.kind import Kind
from perfproof.model.workloads.workload import Profile, Workload

PROCESSES = 2
"""Blocks at most: a second process of each arm confirms what differs in the first."""
USUAL = 32
"""Requests of most features."""
LEFT = frozenset(["python_instructions", "python_calls", "c_calls", "torch_operators", "torch_bytes"])
"""What a counted engine leaves."""
NAMED = 8
"""Features that a description names, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineWorkload(Workload):
    """Features of the matrix by name, and how many requests each has at a time: `requests` where that is said, else each feature's own; the
    engine's start has none. `timed` says whether uncounted steps are timed besides."""

    features: tuple[str, ...]
    requests: tuple[int, ...]
    timed: bool = True
    kind: Literal["engine"] = "engine"

    @property
    def cells(self) -> Mapping[str, tuple[int, ...]]:
        """Each feature with its numbers of requests, the cheapest first."""
        return {one.name: one.sizes if one.starts else self.requests or one.sizes for one in FEATURES if one.name in self.features}

    @property
    def observed_as(self) -> tuple[str, ...]:
        return tuple(f"feature {name}" for name in self.features)

    @property
    def case(self) -> str:
        """A step of the first feature, of `USUAL` requests where it has so many."""
        name, sizes = next(iter(self.cells.items()))
        feature = next(one for one in FEATURES if one.name == name)
        usual = "prefill" if feature.pools else f"decode at {feature.positions[-1]:,}" if feature.positions else "decode"
        return case_of(START if feature.starts else usual, name, USUAL if USUAL in sizes else sizes[0])

    def most_blocks(self, looked: int) -> int:
        return PROCESSES

    def counted_once(self, case: str) -> Mapping[str, Any]:
        feature = case_feature(case)
        requests = [size for size in self.cells.get(feature, ()) if case.endswith(f", {size} requests")]
        return {"features": [feature], "requests": requests, "timed": False} if requests else {}

    @property
    def long(self) -> bool:
        """Whether a feature of it has long outputs, which are run to their end."""
        return any(one.positions for one in FEATURES if one.name in self.features)


class EngineDoc(WorkloadDoc, Growing):
    LATER = frozenset({"timed"})

    kind: Literal["engine"]
    features: Annotated[list[str], Field(min_length=1)]
    requests: list[Annotated[int, Field(ge=1, le=256)]] = Field(default_factory=list)
    timed: bool = True

    @field_validator("features")
    @classmethod
    def _of_the_matrix(cls, features: list[str]) -> list[str]:
        unknown = [name for name in features if name not in NAMES]
        if unknown:
            raise ValueError(f"there is no feature {shown(unknown[0])}; there are {', '.join(NAMES)}")
        return features

    def noun(self, profile: Profile, folder: Path | None, faults: list[str]) -> EngineWorkload:
        return EngineWorkload(features=tuple(self.features), requests=tuple(self.requests), timed=self.timed)

    def unsatisfiable(self, metrics: Sequence[str], blocks: int | None) -> Iterator[str]:
        """Features that stand there twice, cases that no feature has, and blocks: a count has no looks."""
        for name in dict.fromkeys(one for place, one in enumerate(self.features) if one in self.features[:place]):
            yield f"workload.features: {shown(name)} stands there twice"
        if blocks is not None:
            yield f"blocks: exact counts need no blocks: a second process confirms what differs, got {blocks}"
        for name in metrics:
            _, _, case = name.partition("@")
            if case and case_feature(case) not in self.features:
                yield f"metrics.{name}: the workload has no such feature; a case is 'decode, plain, 32 requests'"


def case_of(phase: str, feature: str, requests: int) -> str:
    """What stands behind the `@` of a metric: `decode, plain, 32 requests`."""
    return f"{phase}, {feature}, {requests} requests"


def case_feature(case: str) -> str:
    """The feature of a case; "" for what is none. A phase may have a comma in it, a feature has none."""
    parts = case.split(", ")
    return parts[-2] if len(parts) >= 3 and parts[-1].endswith(" requests") else ""


def _measures(name: str) -> bool:
    return base_name(name) in METRICS and base_name(name) in LEFT


def _described(workload: Mapping[str, Any]) -> str:
    features = workload.get("features")
    names = [line(name) for name in features] if isinstance(features, list) else []
    return f"an engine in one process, counted: {few(names, NAMED)}"


ENGINE = Kind(
    name="engine",
    document=EngineDoc,
    judged_by="counts",
    scope="host",
    measures=_measures,
    guessed_seconds=240.0,
    describe=_described,
    inapplicable=("server_arguments", "client"),
)
