"""The builds and arms of a change: the base, and the base plus the change.

The documents of both builds are as a scenario file would hold them. A scenario keeps its workload, metrics and margins, and gets two arms.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.builds.overlays import git_changes, overlay, unified_diff
from perfproof.builds.overlays.commit_files import pinned
from perfproof.changes.countable_functions import Watching
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.build_spec import EXPECTED, parse_build
from perfproof.model.documents.decode import scenario_of
from perfproof.model.scenarios.metrics import METRICS, base_name, metric
from perfproof.model.scenarios.scenario import OverlayBuild, Scenario
from perfproof.model.verdicts.gate_decision import Ruling
from perfproof.model.verdicts.judged import Outcome
from perfproof.runners import build_faults
from perfproof.tracking.console import blame_offer

BASE, DIFF = "base", "diff"
"""The arms, and the builds that they run on."""
HOST = "engine_host_cost"
"""The scenario that counts what vLLM's host does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to be measured: a diff file, or what git says differs between two commits; `build` is the base in one word."""

    build: str
    diff: Path | None
    repo: Path | None
    ref: str | None
    base: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeBuilds:
    """The documents of both builds, the overlay of the change, and the paths that it touches."""

    docs: Mapping[str, Mapping[str, Any]]
    overlay: OverlayBuild
    paths: tuple[str, ...]

    def rearmed(self, scenario: Scenario) -> Scenario:
        """The scenario with the arms of the change."""
        return rearmed(scenario, self.docs, self.overlay.label)


def builds_of(change: Change, scenario: Scenario) -> ChangeBuilds:
    """The builds of a change; any scenario will do to decode them. Raises `BadInput` for faults that are known before they are made."""
    docs = documents(change, Path.cwd())
    build = rearmed(scenario, docs, "the change").builds[DIFF]
    assert isinstance(build, OverlayBuild)  # noqa: S101 (`documents` made it one)
    if faults := build_faults(build):
        raise BadInput(*faults)
    touched = unified_diff.touched(unified_diff.read_diff(overlay.change_of(build), overlay.words_of(build)))
    return ChangeBuilds(docs=docs, overlay=build, paths=tuple(touched))


def blame_notes(change: Change, more_work: str, rulings: Sequence[Ruling]) -> Iterator[str]:
    """How to find which of a change's functions and lines bring what was found: more of the host's work (the metric with its case, or ""),
    and the first time or count of a scenario that regressed."""
    if more_work:
        yield _blame_note(change, HOST, more_work)
    found = (one for one in rulings if one.verdict is Outcome.REGRESSED and one.effect in ("fail", "warn") and _of_mixtures(one.metric))
    if (worse := next(found, None)) is not None:
        yield _blame_note(change, worse.scenario, worse.metric)


def _blame_note(change: Change, scenario: str, name: str) -> str:
    build = change.build if "/" not in change.build or ":" in change.build else _interpreter(change.build)
    if change.diff is not None:
        return blame_offer(scenario, build, f"{build}+{typed_path(change.diff)}", name)
    clone = [typed_path(change.repo) if change.repo else "", build, str(change.base)]
    return blame_offer(scenario, str(change.base), str(change.ref), name, clone=clone)


def build_word(change: Change) -> str:
    """The base as anybody may type it: an interpreter's path is the user's own."""
    return change.build if "/" not in change.build else "path/to/python"


def typed_path(path: Path) -> str:
    """A path as one types it where the command was typed: the shorter of the relative and the absolute one. It begins with ~ where it would
    name a home folder."""
    whole, home = os.path.abspath(path), os.path.expanduser("~")
    beside = os.path.relpath(whole)
    if not Path(whole).is_relative_to(home) or home == "/":
        return min(beside, whole, key=len)
    return beside if Path.cwd().is_relative_to(home) else f"~/{os.path.relpath(whole, home)}"


def _interpreter(build: str) -> str:
    """The path of an interpreter: one beside us needs its ./, for a bare name is a build of a scenario."""
    path = typed_path(Path(build).expanduser())
    return path if "/" in path else f"./{path}"


def _of_mixtures(name: str) -> bool:
    """Whether mixtures of two builds can be compared in a metric: a time, or what a trial counts itself."""
    return base_name(name) in METRICS and metric(name).kind in ("time", "rate", "witness")


def where_it_left(change: Change) -> tuple[Change, list[str]]:
    """The change with its merge base as the base, and a note on that: later commits of the base are not part of the change.

    A diff is returned unchanged. Raises `BadInput` for commits that are not there, or have none in common.
    """
    if change.diff is not None:
        return change, []
    repo, ref = str(change.repo), "HEAD" if change.ref is None else change.ref
    start = git_changes.merge_base(repo, str(change.base), ref)
    return dataclasses.replace(change, ref=ref, base=start), [f"{ref} is compared with {start[:12]}, where it left {change.base}"]


def documents(change: Change, folder: Path) -> dict[str, dict[str, Any]]:
    """The builds `base` and `diff` as a scenario file would hold them. Raises `BadInput` for a build or a file that is not there."""
    try:
        name, docs = parse_build(change.build, BASE, folder)
    except BadInput as error:
        raise BadInput(*(f"--build {fault}" for fault in error.faults)) from None
    if name not in docs:
        raise BadInput(f"--build {change.build}: there is no scenario that names such a build; {EXPECTED}")
    if change.diff is not None:
        if not change.diff.is_file():
            raise BadInput(
                f"--diff {change.diff}: there is no such file; git diff main -- vllm > {change.diff.name or 'my.diff'} makes one"
            )
        return {**docs, DIFF: {"kind": "overlay", "base": BASE, "diff": str(change.diff.absolute())}}
    source = {"repo": str((change.repo or folder).absolute()), "ref": change.ref, "base": change.base}
    return {**docs, DIFF: {"kind": "overlay", "base": BASE, "git": source}}


def rearmed(scenario: Scenario, docs: Mapping[str, Mapping[str, Any]], label: str) -> Scenario:
    """The scenario with its workload, metrics and margins, and two arms, the base and the change, without patches and with the baseline's
    settings. Its definition holds the hash of the change, so that the same change continues and another one does not mix with it."""
    scenario = scenario.with_files_of(scenario.baseline)
    own = {
        key: value
        for key, value in scenario.definition["arms"][scenario.baseline.name].items()
        if key not in ("build", "patches", "own_patches")
    }
    arms = {name: {**own, "baseline": name == BASE, "build": name} for name in (BASE, DIFF)}
    question = f"{scenario.name}: what does {label} change against its base?"
    definition = {**scenario.definition, "question": question, "builds": dict(docs), "arms": arms}
    made = scenario_of(definition, source=scenario.source, folder=Path(scenario.source).parent, workload=scenario.workload)
    made = pinned(made)
    return dataclasses.replace(made, exercises=scenario.exercises, device=scenario.device)


def counting(scenario: Scenario, watched: Watching, *, must_run: bool = True) -> Scenario:
    """The rearmed scenario with the changed functions counted in both arms: a trial in which none of them ran shows nothing.

    Such a trial is unattested if one of them must run; else it counts, and `uncounted` reports it.
    """
    more = bool(watched.unknown) or not must_run
    arms = (dataclasses.replace(arm, changed=watched.functions, changes_more=more) for arm in scenario.arms)
    return dataclasses.replace(scenario, arms=tuple(arms))
