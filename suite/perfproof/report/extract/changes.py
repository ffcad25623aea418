"""What a scenario's candidates change: patches with the first sentence of their docstring, diffs with their files, builds, settings."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Any

from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.records.record import Record
from perfproof.report.base.page_model import ArmView
from perfproof.report.extract import facts

NAME = 160
"""Most characters of a name as shown."""
MOST_FILES = 3
"""The most files of a diff that are named."""
OURS = "perfproof.patches."
Changes = tuple[tuple[str, str], ...]
"""Pairs of a name and a description."""


def changes(arms: Sequence[ArmView], definition: Mapping[str, Any], records: Sequence[Record]) -> Mapping[str, Changes]:
    """What each candidate changes against the baseline, as pairs of a name and a description ("" where the name says it)."""
    baseline = next((arm for arm in arms if arm.baseline), None)
    return {arm.name: tuple(dict.fromkeys(change(arm, baseline, definition, records))) for arm in arms if not arm.baseline}


def altered(arms: Sequence[ArmView], definition: Mapping[str, Any], records: Sequence[Record]) -> Mapping[str, Changes]:
    """What alters the baseline, likewise for each candidate, all of which are vLLM as released."""
    baseline = next((arm for arm in arms if arm.baseline), None)
    found = tuple(change(baseline, None, definition, records)) if baseline else ()
    return {arm.name: found for arm in arms if not arm.baseline}


def taken_out(arms: Sequence[ArmView], records: Sequence[Record]) -> frozenset[str]:
    """The candidates whose own patches all take a released change out of the baseline's build, as their processes attested."""
    baseline = next((arm for arm in arms if arm.baseline), None)
    found = set()
    for arm in arms:
        own = set(arm.patches) - set(baseline.patches) if baseline and not arm.baseline and arm.build == baseline.build else set()
        if own and _directions(arm, own, records) == {"removes"}:
            found.add(arm.name)
    return frozenset(found)


def patched_baseline(arms: Sequence[ArmView], records: Sequence[Record]) -> bool:
    """Whether the baseline has patches that add to its build, as its processes attested, and the one candidate has none."""
    if len(arms) != 2:
        return False
    baseline, candidate = sorted(arms, key=lambda arm: not arm.baseline)
    return not candidate.patches and candidate.build == baseline.build and _directions(baseline, baseline.patches, records) == {"adds"}


def _directions(arm: ArmView, patches: Iterable[str], records: Sequence[Record]) -> set[Any]:
    """What these patches of an arm do, "adds" or "removes", as its processes attested; None among them for one that says neither."""
    attested = (r.attestation.patches for r in records if r.attestation and line(r.arm, NAME) == arm.name)
    directions = {name: patch.get("direction") for found in attested for name, patch in found.items()}
    return {directions.get(name) for name in patches}


def change(arm: ArmView, baseline: ArmView | None, definition: Mapping[str, Any], records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """What one arm changes: its patches and diff; a build, variables and arguments that the baseline does not have."""
    kept = baseline.patches if baseline else ()
    yield from ((f"patch {name}", summary(name)) for name in arm.patches if name not in kept)
    build = build_of(arm, definition)
    if build.get("kind") == "overlay":
        yield f"diff {line(str(build.get('diff') or build.get('patch') or ''), NAME)}".strip(), _files(arm, records)
    elif baseline and arm.build != baseline.build:
        yield f"{_release(arm)} against {_release(baseline)}", ""
    if baseline and not arm.patches and (more := [each for each in arm.settings if each not in baseline.settings]):
        yield line(" ".join(more), NAME), ""


def _release(arm: ArmView) -> str:
    """A build by the version of vLLM that its processes attested, else by its name."""
    return f"vLLM {arm.version.partition('+')[0]}" if arm.version else arm.build


def build_of(arm: ArmView, definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """An arm's build as the scenario defines it; empty where it does not."""
    builds = definition.get("builds")
    defined = next((each for each in facts.defined_arms(definition) if line(each["name"], NAME) == arm.name), {})
    build = builds.get(str(defined.get("build"))) if isinstance(builds, Mapping) else None
    return build if isinstance(build, Mapping) else {}


def _files(arm: ArmView, records: Sequence[Record]) -> str:
    """The files of vLLM that an arm's overlay changes, as its records say: "changes vllm/a.py and vllm/b.py"."""
    for record in records:
        overlay = record.environment.get("overlay")
        if line(record.arm, NAME) == arm.name and isinstance(overlay, Mapping) and isinstance(overlay.get("files"), list | tuple):
            named = [line(str(each), NAME) for each in overlay["files"]]
            return f"changes {few(named, MOST_FILES)}" if named else ""
    return ""


@cache
def module_of(patch: str) -> str:
    """The module that registers a patch with vLLM; "" for a patch that is not installed here."""
    return next((entry.module for entry in entry_points(group="vllm.general_plugins", name=patch)), "")


@cache
def summary(patch: str) -> str:
    """The first sentence of the docstring of a patch of this suite, without what stands in brackets; "" for any other patch.

    The module is read, not imported.
    """
    module = module_of(patch)
    if not module.startswith(OURS):
        return ""
    file = files("perfproof").joinpath(*module.split(".")[1:-1], f"{module.rpartition('.')[2]}.py")
    docstring = ast.get_docstring(ast.parse(file.read_text("utf-8"))) if file.is_file() else None
    first = (docstring or "").strip().partition("\n")[0].replace("`", "")
    return first.partition(" (")[0].rstrip(".")
