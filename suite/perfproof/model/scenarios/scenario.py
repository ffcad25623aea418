"""What a scenario file asks: a Workload, two or more Arms, the Metrics that decide."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from perfproof.model.scenarios.accuracy_workload import AccuracyWorkload as AccuracyWorkload
from perfproof.model.scenarios.build import Build as Build
from perfproof.model.scenarios.build import DefiningFile as DefiningFile
from perfproof.model.scenarios.build import EditableBuild as EditableBuild
from perfproof.model.scenarios.build import GitSource as GitSource
from perfproof.model.scenarios.build import OverlayBuild as OverlayBuild
from perfproof.model.scenarios.build import PythonBuild as PythonBuild
from perfproof.model.scenarios.build import ReleaseBuild as ReleaseBuild
from perfproof.model.scenarios.equality_workload import Equality
from perfproof.model.scenarios.equality_workload import EqualityWorkload as EqualityWorkload
from perfproof.model.scenarios.model_source import Dataset as Dataset
from perfproof.model.scenarios.model_source import Family as Family
from perfproof.model.scenarios.model_source import Model as Model
from perfproof.model.scenarios.model_source import SmolModel as SmolModel
from perfproof.model.scenarios.model_source import ToyModel as ToyModel

Profile = Literal["quick", "standard", "thorough"]
PROFILES: tuple[Profile, ...] = ("quick", "standard", "thorough")
DEFAULT_MARGIN = 0.02
LEAST_BLOCKS = 6
LOOKS = (6, 10, 16, 24)
MOST_PRIMARY = 6
LEAST_SECONDS: Mapping[Profile, float] = {"quick": 2.0, "standard": 30.0, "thorough": 30.0}
"""Seconds that a trial of a server should measure, at least."""
WARM_SECONDS = 2.0
"""Seconds of arriving requests that are sent as warm-ups where requests arrive at a rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A build, the patches and the settings that it runs with.

    `client` are flags of the client that differ from the workload's, for an arm that shows a ceiling (no penalty, say). `equality` says
    what it does if the arm's answers are not the baseline's: what is to change numerics is judged on accuracy alone. None: what its
    patches declare. `changed` are functions (`module:Qual.name`) that the arms' builds differ in, counted in every arm: a trial that
    calls none of those which its vLLM has proves nothing, unless the builds differ in code that no count can tell of too (`changes_more`).
    """

    name: str
    baseline: bool
    build: str
    patches: tuple[str, ...]
    environment: Mapping[str, str]
    server_arguments: tuple[str, ...]
    client: Mapping[str, str | int | float | bool]
    allow_unverified: bool
    equality: Equality | None = None
    changed: tuple[str, ...] = ()
    changes_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroWorkload:
    """A microbenchmark of `suite/perfproof/bench`; every entry of `cases` overrides some of its parameters."""

    bench: str
    parameters: Mapping[str, Any]
    cases: tuple[Mapping[str, Any], ...]
    kind: Literal["micro"] = "micro"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeWorkload:
    """`vllm bench serve` against `vllm serve`.

    `client` are flags of
    `vllm bench serve` without their dashes. `launches` is `shared` (one server an arm serves all blocks)
    or `fresh` (a server a trial). `dataset` is made by the suite; None where the client's flags name one.
    """

    model: Model
    server_arguments: tuple[str, ...]
    client: Mapping[str, str | int | float | bool]
    requests: int
    warmups: int
    launches: Literal["shared", "fresh"]
    dataset: Dataset | None = None
    kind: Literal["serve"] = "serve"


def arrival_rate(client: Mapping[str, str | int | float | bool]) -> float:
    """Requests a second that the client sends with these flags, at the most; infinite where it sends all of them at once.

    A ramp ends at its highest; vLLM's client refuses a `request-rate` beside it.
    """
    try:
        rate = float(client.get("ramp-up-end-rps" if "ramp-up-strategy" in client else "request-rate", math.inf))
    except ValueError:  # the client's own parser will tell
        return math.inf
    return rate if math.isfinite(rate) else math.inf


def one_wave(requests: int, client: Mapping[str, str | int | float | bool]) -> int | None:
    """How many of the requests are under way at once, at most, with these flags of the client.

    None where they arrive at a rate and no `max-concurrency` bounds them: that depends on how long each takes, which nobody knows before.
    """
    most = client.get("max-concurrency")
    if most is not None:
        return min(requests, int(most))
    return requests if math.isinf(arrival_rate(client)) else None


def default_warmups(requests: int, client: Mapping[str, str | int | float | bool]) -> int:
    """Warm-ups where a scenario names none: a wave; where none is known, what arrives within two seconds, at least one.

    vLLM's client keeps to no rate with its warm-ups but sends them all at once. As many are under way at once as arrive while one is
    answered, a second or a few: with two seconds' worth the server has met about such a batch, and not one that the run never has.
    """
    wave = one_wave(requests, client)
    if wave is not None:
        return wave
    return min(requests, max(1, math.ceil(WARM_SECONDS * arrival_rate(client))))


def requests_for(seconds: float, requests: int, measured: float, wave: int | None) -> int:
    """How many requests would be measured for so many seconds, where `requests` took `measured` seconds; whole waves, if one is known."""
    whole = wave or 1
    return whole * math.ceil(requests * seconds / max(measured, 1e-3) / whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineWorkload:
    """`vllm bench latency` or `vllm bench throughput`: a process a trial, without server and client. `arguments` are its flags without
    their dashes."""

    bench: Literal["latency", "throughput"]
    model: Model
    arguments: Mapping[str, str | int | float | bool]
    kind: Literal["offline"] = "offline"


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestWorkload:
    """A pytest-benchmark test of a project, by its node id, in two checkouts; `pytest --perfproof` measures it.

    `base` is the commit of one, `change` a hash of how the other differs. `family` benchmarks were chosen together and share the error of
    the looks.
    """

    test: str
    base: str
    change: str
    family: int
    kind: Literal["pytest"] = "pytest"


Workload = MicroWorkload | ServeWorkload | OfflineWorkload | AccuracyWorkload | EqualityWorkload | PytestWorkload


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChoice:
    """A metric that this scenario looks at; primary ones decide, each against its margin (a fraction)."""

    name: str
    primary: bool
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One question.

    `blocks` is None for the sequential looks, else one look after so many blocks. `definition` is the
    scenario as plain JSON, profile merged: what a record keeps; `digest` is its fingerprint, so that records of
    different questions never mix. `exercises` are modules and functions of vLLM (`module:Qual.name`) beyond those that its
    benchmark names, `device` what it needs ("cuda"), None for anything: they say when to ask it, and are no part of the definition.
    """

    name: str
    question: str
    profile: Profile
    workload: Workload
    builds: Mapping[str, Build]
    arms: tuple[Arm, ...]
    metrics: tuple[MetricChoice, ...]
    blocks: int | None
    seed: int
    source: str
    definition: Mapping[str, Any]
    exercises: tuple[str, ...] = ()
    device: str | None = None

    @property
    def baseline(self) -> Arm:
        return next(arm for arm in self.arms if arm.baseline)

    @property
    def candidates(self) -> tuple[Arm, ...]:
        return tuple(arm for arm in self.arms if not arm.baseline)

    @property
    def primaries(self) -> tuple[MetricChoice, ...]:
        return tuple(choice for choice in self.metrics if choice.primary)

    @property
    def again(self) -> int:
        """How often the baseline alone runs again, after the only block of a scenario about answers: its own A/A. 0 for what is timed."""
        return self.workload.again if isinstance(self.workload, EqualityWorkload) else 0

    @property
    def most_blocks(self) -> int:
        if isinstance(self.workload, AccuracyWorkload):
            return 1
        if self.again:
            return 1 + self.again
        return self.blocks if self.blocks is not None else LOOKS[-1]

    @property
    def most_trials(self) -> int:
        return len(self.arms) + self.again if self.again else self.most_blocks * len(self.arms)

    @property
    def digest(self) -> str:
        return digest_of(self.definition)


def digest_of(definition: Mapping[str, Any]) -> str:
    """Twelve hex digits of a definition's SHA-256.

    The wording of its question does not count, nor the name of a file whose content does, nor what a build of today did not have yet.
    """
    counted = {key: value for key, value in definition.items() if key != "question"}
    if isinstance(builds := counted.get("builds"), dict):
        counted["builds"] = {name: _counted(build) if isinstance(build, dict) else build for name, build in builds.items()}
    return hashlib.sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()[:12]


def _counted(build: dict[str, Any]) -> dict[str, Any]:
    """What identifies a build in a definition: for files and for git the hash of what they say, where there is one."""
    named = ["constraints"] if build.get("constraints_sha256") else []
    named += ["diff", "git"] if build.get("sha256") else []
    return {key: value for key, value in build.items() if key not in named and value is not None}
