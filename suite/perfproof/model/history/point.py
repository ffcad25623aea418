"""The entries of a History: Points, the Settings they were measured in, and Acknowledgements. Each is one line of a history file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from perfproof.model.scenarios.metrics import Better

HISTORY = Path("results/history")
"""The default folder of points."""

POINT_SCHEMA = 2
"""Of every line of a history file. 1, of before the first release, had neither `packages` nor `rounds`."""
PointKind = Literal["witness", "count", "timed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The identity of a timeline: points that differ in any of these fields never mix.

    `workload` is the digest of what is executed and of the arm's settings, without the build: a changed scenario begins a new
    series. `machine` is `model.verdicts.noise_floor.machine_fingerprint`.
    """

    scenario: str
    metric: str
    arm: str
    machine: str
    workload: str

    @property
    def label(self) -> str:
        """The series in words."""
        return f"{self.scenario} {self.metric} {self.arm} on {self.machine}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One metric of one arm on one build, from the trials of one run.

    `value` is the mean over `values`, one per trial, in the metric's base unit (geometric for a timed metric); `rounds` counts the timed
    rounds inside the trials. `build` is its label, `version` and `sources` are what its processes attested: vLLM's version and the hash
    of its Python files. `environment` and `packages` are ids of Settings: of facts that may change on one machine (kernel, driver), and of
    packages beside vLLM. `when` is the start of the first trial, ISO 8601 in UTC. `id` follows from all of this
    (`identified`), so that two lines of the same point count once.
    """

    schema: int
    id: str
    scenario: str
    metric: str
    unit: str
    better: Better
    kind: PointKind
    arm: str
    build: str
    version: str
    sources: str
    machine: str
    environment: str
    packages: str
    workload: str
    value: float
    values: Sequence[float]
    rounds: int
    when: str

    @property
    def series(self) -> Series:
        """The timeline that the point belongs to."""
        return Series(scenario=self.scenario, metric=self.metric, arm=self.arm, machine=self.machine, workload=self.workload)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The conditions of a point, kept once per file: `id` is the digest of `what`, which maps names to values.

    For example `{"kernel": "6.18.44", "governor": "performance"}`, or `{"torch": "2.13.0+cpu", "numpy": "2.3.5"}`.
    """

    schema: int
    id: str
    scenario: str
    machine: str
    what: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """A step that somebody accepts, and why: the level after it is the new baseline, and the report always shows it.

    It holds for steps of `scenario`, `metric` and `arm` on `machine` whose first build is `at` (a build's label), of every workload.
    """

    schema: int
    id: str
    scenario: str
    metric: str
    arm: str
    machine: str
    at: str
    reason: str
    when: str


Entry = Point | Setting | Acknowledgement


def identified(**fields: Any) -> str:
    """Sixteen hex digits that follow from these fields and nothing else: the id of an entry."""
    plain = json.dumps(fields, sort_keys=True, separators=(",", ":"), default=list)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]
