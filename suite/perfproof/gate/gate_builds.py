"""The change of a gate as builds: its files, the documents of both builds, and the builds made ready.

A change without Python that an overlay can apply settles the gate. A base that can't be made is not the change's fault.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.changes import change_builds, change_notes
from perfproof.changes.change_builds import BASE, DIFF, rearmed
from perfproof.changes.change_files import Files, of_branch, of_diff, of_git
from perfproof.changes.scenario_selection import files
from perfproof.gate import trusted_files
from perfproof.gate.gate_state import GateRun
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, BadInput, PerfproofError
from perfproof.model.scenarios.build import foundation
from perfproof.model.scenarios.scenario import OverlayBuild, ReleaseBuild, Scenario
from perfproof.run.checks import vllm_tests
from perfproof.runners import build_faults

DIFFS = Path("results/gate/diffs")
"""The folder for diffs of only those files that an overlay can apply."""
RELEASE = "release"
"""The build below the base, where the base is another commit than the build."""
COMPILE = "Measure it with a build of kind 'editable' (docs/builds.md), which compiles the tree."
ELSEWHERE = "See whether vLLM runs these files: perfproof follows its package alone, vllm/ at the top of its repository."
LOOK = "A reviewer decides: the gate takes vLLM's benchmarks from the base, and does not judge them."


def change_of(gate: GateRun) -> tuple[dict[str, dict[str, Any]], Files]:
    """The builds as a scenario file would hold them, and the files of the change. A branch is compared with its merge base."""
    change, keep = gate.request.change, DIFFS
    if change.repo is None:
        assert change.diff is not None  # noqa: S101 (one of the two is there)
        changed, only = of_diff(change.diff, keep)
        _note_files(gate, changed, str(change.diff.name))
        return change_builds.documents(dataclasses.replace(change, diff=only), Path.cwd()), changed
    since, left = change_builds.where_it_left(change)
    repo, start, ref = str(change.repo), str(since.base), str(since.ref)
    changed, part = of_branch(change.repo, start, ref, keep)
    gate.notes += left
    _note_files(gate, changed, ref)
    trusted_files.refuse_own(change.repo, str(change.base), changed)
    docs = change_builds.documents(dataclasses.replace(since, diff=part), Path.cwd())
    return _on_its_commit(gate, docs, repo, start), changed


def _on_its_commit(gate: GateRun, docs: dict[str, dict[str, Any]], repo: str, start: str) -> dict[str, dict[str, Any]]:
    """The builds, where the base is an overlay of the build if it is another commit."""
    if gate.request.build_ref is None:
        return docs
    between = of_git(Path(repo), gate.request.build_ref, start)
    if between.beyond:
        raise BadInput(
            f"--build-ref {gate.request.build_ref}: {files(between.beyond)} changed between it and the base, which no overlay can apply: "
            "name a --build that was made from a commit nearer to the base"
        )
    if not between.python:
        return docs
    gate.notes.append(f"the base is {start[:12]}, laid over {gate.request.build} ({gate.request.build_ref})")
    source = {"repo": str(Path(repo).absolute()), "ref": start, "base": gate.request.build_ref}
    over = {"kind": "overlay", "base": RELEASE, "git": source}
    return {**docs, RELEASE: docs[BASE], BASE: over}


def _note_files(gate: GateRun, changed: Files, what: str) -> None:
    gate.notes.append(f"{what} changes {files(changed.python) if changed.python else 'no Python below vllm/'}")
    if changed.beyond:
        gate.notes.append(f"not measured, because no overlay can apply it: {files(changed.beyond)}")
    if changed.modes:
        gate.notes.append(f"not measured, because only its mode changes: {files(changed.modes)}")
    if changed.astray:
        gate.notes.append(f"not measured, because it lies in no folder of vLLM's repository: {files(changed.astray)}")
    if changed.other:
        gate.notes.append(f"not measured, because it is not part of vLLM: {files(changed.other)}")


def settle_without_python(gate: GateRun, changed: Files) -> None:
    """Settles on a change without Python that an overlay can apply. There is nothing to judge then, or nothing that can be judged, which is
    neutral unless the policy lets it fail."""
    if changed.python:
        return
    if changed.whole:
        raise gate.settled("the change touches no code of vLLM, so there is nothing to measure", EXIT_PASS)
    why, todo = f"no overlay can apply what the change touches ({files(changed.beyond)}), so nothing was measured", COMPILE
    if not changed.beyond and changed.astray:
        why, todo = (
            f"the change touches Python in no folder of vLLM's repository ({files(changed.astray)}), so nothing was measured",
            ELSEWHERE,
        )
    elif not changed.beyond:
        why, todo = f"the change touches only vLLM's own benchmarks ({files(changed.measures)}), so nothing was measured", LOOK
    gate.not_covered(why, todo)


def overlay_of(gate: GateRun, scenario: Scenario, docs: Mapping[str, Mapping[str, Any]]) -> OverlayBuild:
    """The build of the change. Raises `BadInput` for faults of the base, and settles on faults of the change."""
    build = rearmed(scenario, docs, "the change").builds[DIFF]
    assert isinstance(build, OverlayBuild)  # noqa: S101 (`documents` made it one)
    base, own = build_faults(build.base), build_faults(build)
    if base:
        raise BadInput(*base)
    if own:
        raise gate.refused(own)
    return build


def make_both(gate: GateRun, built: OverlayBuild) -> tuple[ReadyBuild, ReadyBuild]:
    """Makes both builds ready. A base that can't be made is not the change's fault."""
    try:
        base = prepare(built.base, gate.request.builds, gate.say)
    except PerfproofError as error:
        if isinstance(error, BadInput) and isinstance(foundation(built), ReleaseBuild):
            raise  # an unknown release, or a --build-ref that the build was not made from: an option to fix
        todo = "See why the base can't be made ready: it fails without the change, which is not to blame."
        why = f"the base itself can't be made ready, so the change can't be judged and is not to blame: {error}"
        raise gate.settled(why, EXIT_UNTESTABLE, todo) from error
    try:
        return base, prepare(built, gate.request.builds, gate.say)
    except BadInput as error:
        raise gate.refused(error.faults) from error


def run_vllm_tests(gate: GateRun, base: ReadyBuild, changed: ReadyBuild, results: Path) -> None:
    """Runs vLLM's own tests on both builds, if wanted. A test that the change breaks settles the gate."""
    if not gate.request.tests:
        return
    tested = vllm_tests.both(base, changed, gate.request.tests, results / "tests")
    gate.notes.append(change_notes.tests_note(tested))
    if tested.broken:
        why = f"{len(tested.broken)} of vLLM's own tests fail with the change alone: {'; '.join(tested.broken[:3])}"
        todo = "Fix what these tests test; nothing was measured."
        raise gate.settled(why, EXIT_REGRESSED, todo)
