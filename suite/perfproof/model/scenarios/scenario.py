"""What a scenario file asks: a Workload, two or more Arms, the Metrics that decide."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from perfproof.model.scenarios.build import Build as Build
from perfproof.model.scenarios.build import DefiningFile as DefiningFile
from perfproof.model.scenarios.build import EditableBuild as EditableBuild
from perfproof.model.scenarios.build import GitSource as GitSource
from perfproof.model.scenarios.build import ImageBuild as ImageBuild
from perfproof.model.scenarios.build import OverlayBuild as OverlayBuild
from perfproof.model.scenarios.build import PythonBuild as PythonBuild
from perfproof.model.scenarios.build import ReleaseBuild as ReleaseBuild
from perfproof.model.scenarios.metrics import base_name, metric
from perfproof.model.scenarios.model_runner import ModelRunner as ModelRunner
from perfproof.model.scenarios.own_patches import OwnPatch as OwnPatch
from perfproof.model.workloads.file_folder import Files
from perfproof.model.workloads.model_source import Dataset as Dataset
from perfproof.model.workloads.model_source import Family as Family
from perfproof.model.workloads.model_source import Model as Model
from perfproof.model.workloads.model_source import SmolModel as SmolModel
from perfproof.model.workloads.model_source import ToyModel as ToyModel
from perfproof.model.workloads.workload import Profile as Profile
from perfproof.model.workloads.workload import Workload as Workload

Equality = Literal["off", "report", "require"]
"""What an arm's differences do: nothing, they are not even compared; they are shown; they decide."""
PROFILES: tuple[Profile, ...] = ("quick", "standard", "thorough")
DEFAULT_MARGIN = 0.02
COUNT_MARGIN = 0.005
"""The smallest change of a count of the host's work that matters, as a fraction; harmless refactorings move counts by a hundredth of it."""
LEAST_BLOCKS = 6
LOOKS = (6, 10, 16, 24)
MOST_PRIMARY = 6
LEAST_SECONDS: Mapping[Profile, float] = {"quick": 2.0, "standard": 30.0, "thorough": 30.0}
"""Seconds that a trial of a server should measure, at least."""


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
    own_patches: tuple[OwnPatch, ...] = ()
    """Those of the user's own of all arms: every arm has their files, and `patches` names those that it switches on."""
    files: Files | None = None
    """Files of its own, in place of the workload's."""
    changed: tuple[str, ...] = ()
    changes_more: bool = False
    runner: ModelRunner | None = None
    """vLLM's model runner; None: the release's own choice, which must be the same for all arms. `environment` may name it instead."""

    @property
    def patch_contents(self) -> list[str]:
        """The patches by name, those of the user's own by what they say."""
        own = {patch.name: patch.folder_name for patch in self.own_patches}
        return [own.get(name, name) for name in self.patches]


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
    arms_left_out: bool = False
    """Whether its file names no arms, so that it can't be run as it is: builds of a change or of a history take their places."""

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
        return self.workload.repeats

    @property
    def most_blocks(self) -> int:
        return self.workload.most_blocks(self.blocks if self.blocks is not None else LOOKS[-1])

    @property
    def most_trials(self) -> int:
        return len(self.arms) + self.again if self.again else self.most_blocks * len(self.arms)

    def with_files_of(self, arm: Arm) -> Scenario:
        """The scenario in which every arm has the files of that one, for arms that are made of it: a definition says no places."""
        if all(one.files is None for one in self.arms):
            return self
        workload = self.workload if arm.files is None else self.workload.with_files(arm.files)
        arms = {
            name: {key: said for key, said in one.items() if not key.startswith("files")} for name, one in self.definition["arms"].items()
        }
        definition = {**self.definition, "workload": workload.kept(dict(self.definition["workload"])), "arms": arms}
        alike = tuple(dataclasses.replace(one, files=None) for one in self.arms)
        return dataclasses.replace(self, workload=workload, arms=alike, definition=definition)

    def count_margin(self, name: str) -> float:
        """The largest change of a count that is none, as a fraction: of the host's work the metric's own margin, or the usual one; 0 of
        what is exactly the same where nothing changed."""
        if metric(name).kind != "count":
            return 0.0
        choice = next((one for one in self.metrics if one.name in (name, base_name(name))), None)
        return COUNT_MARGIN if choice is None else choice.margin

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


def without_names(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A definition without the names of folders of files whose content it has a hash of: what lies in them is the question."""
    arms = {name: _by_content(arm) for name, arm in definition["arms"].items()}
    return {**definition, "workload": _by_content(definition["workload"]), "arms": arms}


def _by_content(part: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != "files" or not part.get("files_sha256")}


def _counted(build: dict[str, Any]) -> dict[str, Any]:
    """What identifies a build in a definition: for files and for git the hash of what they say, where there is one."""
    named = ["constraints"] if build.get("constraints_sha256") else []
    named += ["diff", "git", "wheel"] if build.get("sha256") else []
    named += ["image"] if build.get("digest") else []
    return {key: value for key, value in build.items() if key not in named and value is not None}
