"""The scenarios of a gate: those that are worth measuring for a change, what fits the budget, and whether the change ran at all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from perfproof.analysis.judging.apply_policy import unjudged
from perfproof.analysis.stats.number_format import duration
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.call_coverage import Called
from perfproof.changes.change_files import Files
from perfproof.changes.countable_functions import Watching
from perfproof.changes.scenario_selection import (
    NEIGHBOURS,
    NO_CALLS,
    calling,
    choose,
    differences,
    files,
    observed,
    perhaps,
    touching,
    watched,
)
from perfproof.changes.selection_rules import module_of, one_per_workload
from perfproof.gate.gate_budget import fitting, minutes_for
from perfproof.gate.gate_builds import COMPILE
from perfproof.gate.gate_state import GateRun
from perfproof.model.base.errors import EXIT_PASS, EXIT_UNTESTABLE, CannotRun
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.gate_decision import Decision
from perfproof.model.verdicts.judged import Outcome
from perfproof.model.verdicts.policy import deciding
from perfproof.run.checks.catalog import exercised
from perfproof.run.processes.attestation import NEVER_RAN

LONGER = "Measure longer (a larger --budget)."
WRITE_ONE = "Name scenarios with --scenarios, or write one for this code (docs/scenarios.md)."


def pick(
    gate: GateRun, wanted: Sequence[Scenario], always: Sequence[Scenario], paths: Sequence[str], base: ReadyBuild, changed: ReadyBuild
) -> list[Scenario]:
    """The scenarios that are worth measuring, the cheapest first. The notes say why these, and why not others."""
    device, chosen = base.fingerprint.device or "cpu", list[Scenario]()
    if gate.request.all:
        chosen = list(one_per_workload([one for one in wanted if one.device in (None, device)]))
        gate.notes.append(f"all scenarios for this {device} (--all): {len(chosen)}")
        gate.touching = {one.name for one in touching(chosen, paths)}
    else:
        chosen = _near(gate, wanted, paths, base, changed)
        gate.touching = {one.name for one in chosen}
    if not chosen:
        gate.notes.append("no scenario exercises what the change touches")
    names = {one.name for one in chosen}
    more = [one for one in always if one.device in (None, device) and one.name not in names]
    if more:
        gate.notes.append(f"{', '.join(one.name for one in more)}: the policy's canary, measured for every change")
    gate.wanted = [one for one in chosen if one.name in gate.touching and deciding(one.definition, gate.policy)]
    every = one_per_workload([*sorted(chosen, key=lambda one: minutes_for(one, gate.policy)), *more])
    kept = [one for one in every if deciding(one.definition, gate.policy)]
    if silent := [one.name for one in every if one not in kept]:
        gate.notes.append(f"not measured (none of their metrics decides under {gate.policy.name}): {', '.join(silent)}")
    if left := gate.policy.lacking([one.name for one in kept]):
        gate.notes.append(f"named by {gate.policy.name} and not chosen for this change: {', '.join(left)}")
    if not kept and not gate.host.ran:
        gate.not_covered(
            f"no scenario that decides exercises what the change touches{_nor_counted(gate)}, so nothing was measured", WRITE_ONE
        )
    return kept


def _nor_counted(gate: GateRun) -> str:
    """A clause that no counted feature ran the change either; "" where none was counted."""
    tried = gate.host.findings.tried if gate.host.findings else ()
    return f", nor does a feature that was counted ({', '.join(tried)})" if tried else ""


def _near(gate: GateRun, wanted: Sequence[Scenario], paths: Sequence[str], base: ReadyBuild, changed: ReadyBuild) -> list[Scenario]:
    """The scenarios that were seen to call the changed functions or name them, else those of the same files, else those that may run them.

    There are none where all need another device, or where no count could show that the change ran.
    """
    named, package = gate.request.scenarios is not None, base.fingerprint.package
    near = wanted if named else touching(wanted, paths) or _perhaps(gate, wanted, paths, package)
    functions = watched(paths, base, changed, near)
    seen = NO_CALLS if named else observed(wanted, functions, base, gate.request.builds)
    near = [*near, *(one for one in calling(wanted, seen) if one not in near and not named)]
    try:
        chosen = choose(near, differences(paths, base, changed, near), base.fingerprint.device, gate.profile, picked=named, calls=seen)
    except CannotRun as error:
        gate.notes += [str(error)] if near else []
        return []
    if chosen.guessed and not functions.functions:
        return []
    gate.reasons, gate.guessed = chosen.reasons, chosen.guessed
    gate.notes += [note for note in chosen.left if not note.startswith(NEIGHBOURS)]
    return list(chosen.scenarios)


def _perhaps(gate: GateRun, wanted: Sequence[Scenario], paths: Sequence[str], package: Path) -> list[Scenario]:
    """The scenarios that start a whole vLLM and have a deciding metric."""
    return [one for one in perhaps(wanted, paths, package) if deciding(one.definition, gate.policy)]


def fit_budget(gate: GateRun, scenarios: Sequence[Scenario]) -> list[Scenario]:
    """The scenarios that fit into the rest of the budget, from the first on. The notes name those that do not."""
    if gate.budget is None:
        return list(scenarios)
    kept, skipped = fitting(scenarios, gate.policy, gate.left)
    if skipped:
        named = ", ".join(f"{one.name} (about {duration(minutes)})" for one, minutes in skipped)
        gate.notes.append(f"skipped, because {duration(gate.budget)} are not enough for all: {named}")
    return kept


def covered(gate: GateRun, decision: Decision, seen: Called, counted: Watching, changed: Files, measured: Collection[str]) -> Decision:
    """The decision, unless it passes a change that was not shown to have run.

    Such a change is not judged; where more time would have measured it, it does not pass.
    """
    if not decision.passes:
        return decision
    ran = {name.partition(":")[0] for names in seen.ran.values() for name in names}
    if left := _left_out(gate, changed.python, measured, ran):
        return unjudged(decision, f"{left} could have been measured, and was not", EXIT_UNTESTABLE, LONGER)
    code = EXIT_UNTESTABLE if gate.policy.not_covered == "fail" else EXIT_PASS
    zero = counted.functions and not counted.unknown and any(seen.anywhere.values()) and not seen.ran
    if zero and not gate.host.ran:
        return unjudged(decision, f"{NEVER_RAN}: nothing called {files(counted.functions)}", code, WRITE_ONE)
    if not seen.ran and not gate.host.ran and not gate.touching & set(measured):
        return unjudged(decision, "no scenario that decides exercises what the change touches", code, WRITE_ONE)
    if not changed.whole and not any(ruling.verdict not in (None, Outcome.UNTESTABLE) for ruling in decision.deciding):
        rest = files([*changed.beyond, *changed.measures])
        return unjudged(decision, f"the change does not run without the files that no overlay could apply ({rest})", code, COMPILE)
    return decision


def _left_out(gate: GateRun, paths: Sequence[str], measured: Collection[str], ran: Collection[str]) -> str:
    """The touched files whose scenarios were chosen but not measured, because time ran out; "" where there are none."""
    modules = {module_of(path): path for path in paths}
    exercises = {one.name: {target.partition(":")[0] for target in exercised(one)} & modules.keys() for one in gate.wanted}
    done = {module for name, own in exercises.items() if name in measured for module in own} | set(ran)
    return files(sorted({modules[module] for own in exercises.values() for module in own - done}))
