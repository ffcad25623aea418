"""The gate's one command: measures a change against its base, as far as the time allows, and decides.

In order: the policy and the files of the change are read; both builds are made, the base first, because a broken base is not the change's
fault; what the change costs the host is counted; scenarios are chosen (those whose code it touches, and a canary), planned to fit the
budget, run until every deciding metric is settled, and ruled on. Whatever goes wrong on the way ends in a decision that says whose fault it
is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from perfproof import store
from perfproof.analysis.judging.apply_policy import decide, stopped
from perfproof.analysis.stats.number_format import duration
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.processes import temp_files
from perfproof.changes import change_builds, change_notes
from perfproof.changes.call_coverage import borne_out, called, ran_sentences
from perfproof.changes.change_builds import blame_notes, rearmed
from perfproof.changes.change_files import Files
from perfproof.changes.change_notes import uncounted
from perfproof.changes.countable_functions import Watching
from perfproof.changes.counting.count_findings import Setting, cells_of
from perfproof.changes.counting.host_count import Counting, budget_of, count_first
from perfproof.changes.measure_change import OpenRunners
from perfproof.changes.scenario_selection import reason_lines, watched
from perfproof.commands import record_verdicts
from perfproof.commands.run_scenarios import load
from perfproof.executor import conduct
from perfproof.gate import gate_builds, gate_outputs, gate_scenarios, trusted_files
from perfproof.gate.aa_precheck import precheck
from perfproof.gate.gate_budget import canaries, cheapest_first, done, own_canaries, rules_for, under
from perfproof.gate.gate_request import GateRequest
from perfproof.gate.gate_state import SETTLING, GateRun, Settled
from perfproof.gate.trusted_files import Judges
from perfproof.model.base.clock import today as this_day
from perfproof.model.base.errors import EXIT_UNTESTABLE, CannotRun
from perfproof.model.scenarios.plan import Plan
from perfproof.model.verdicts.policy import DEFAULT_POLICY, Policy
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from perfproof.report.base.page_model import Page
from perfproof.run.checks import vllm_tests
from perfproof.runners import check_names, opened
from perfproof.tracking.released_scenario import with_alternating_rounds

RESULTS = Path("results/gate")
AA = RESULTS / "aa"
"""Where the base is run against itself, for all changes on this machine."""
NOT_CONCLUDED = "Nothing is concluded about the change: see the reason, and run the gate again."


def gate_change(
    request: GateRequest,
    console: Console | None = None,
    open_runners: OpenRunners | None = None,
    count: Counting = count_first,
    *,
    clock: Callable[[], float] = time.monotonic,
    today: date | None = None,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Decides on a change, writes the decision in every wanted form, and returns the exit code.

    `open_runners` opens the runners of a plan, `count` counts a change; tests pass their own. Raises `BadInput` for a policy, an option or
    a commit that can't be used. A fault of the change or of its base is a decision.
    """
    cells_of(request.count_features)
    gate = GateRun(
        request=request,
        console=console or Console(),
        open_runners=open_runners,
        count=count,
        clock=clock,
        day=today or this_day(),
        began=clock(),
    )
    try:
        with temp_files.directory() as folder:
            page = _run(gate, Path(folder))
    except Settled as settled:
        page = gate_outputs.bare(settled.decision)
    except CannotRun as error:
        name = Path(request.policy).stem if request.policy else DEFAULT_POLICY.name
        page = gate_outputs.bare(stopped(name, str(error), EXIT_UNTESTABLE, todo=(NOT_CONCLUDED,), notes=gate.notes))
    return gate_outputs.tell(record_verdicts.with_counts(page, gate.host.document()), request.outputs, gate.console, environment)


def _run(gate: GateRun, folder: Path) -> Page:
    """The page with the decision. Raises `Settled` where one stands earlier."""
    request = gate.request
    by = _judges(gate, folder)
    with trusted_files.as_of(by.base, folder):
        gate.policy = _policy_of(gate, by)
        vllm_tests.checked(request.tests)
        every = [with_alternating_rounds(one) for one in load([*by.every, *own_canaries(gate.policy, by.every)], gate.profile, None)]
        wanted = every if by.wanted is None else [with_alternating_rounds(one) for one in load(by.wanted, gate.profile, None)]
        gate_outputs.check_names(gate.policy, {s.name: [choice.name for choice in s.metrics] for s in (*every, *wanted)})
        always = canaries(gate.policy, every)
    docs, files = gate_builds.change_of(gate)
    gate.notes += by.notes_on(files)
    gate_builds.settle_without_python(gate, files)
    built = gate_builds.overlay_of(gate, wanted[0], docs)
    base, changed = gate_builds.make_both(gate, built)
    _count(gate, base, changed)
    results = request.results or RESULTS / request.folder(built, gate.policy)
    gate_builds.run_vllm_tests(gate, base, changed, results)
    picked = gate_scenarios.pick(gate, wanted, always, files.python, base, changed)
    if not picked:
        return _by_counts(gate, files)
    chosen = gate_scenarios.fit_budget(gate, picked)
    counted = watched(files.python, base, changed, chosen)
    counted = dataclasses.replace(counted, unknown=()) if gate.guessed else counted
    asking = [change_builds.counting(rearmed(under(one, gate.policy), docs, built.label), counted, must_run=False) for one in chosen]
    plan = cheapest_first(make_plan(asking, request.seed), gate.policy)
    _precheck(gate, plan, results)
    _measure(gate, plan, results)
    return _decided(gate, plan, results, counted, files)


def _judges(gate: GateRun, folder: Path) -> Judges:
    request, change = gate.request, gate.request.change
    if change.repo is None:
        return trusted_files.of_diff(request.policy, request.scenarios)
    return trusted_files.of_branch(change.repo, str(change.base), request.policy, request.scenarios, folder)


def _policy_of(gate: GateRun, by: Judges) -> Policy:
    """The policy, with the user's name for it as its source."""
    policy = gate_outputs.policy_of(by.policy, gate.day)
    return dataclasses.replace(policy, source=by.shown(gate.request.policy, policy.source)) if by.taken(policy.source) else policy


def _count(gate: GateRun, base: ReadyBuild, changed: ReadyBuild) -> None:
    """Counts what the change costs the host, before anything is timed."""
    if gate.request.no_count:
        return
    left = budget_of(gate.budget, lambda: None if gate.budget is None else max(0.0, 60 * gate.left))
    setting = Setting(builds=gate.request.builds, margin=gate.policy.counts.smallest, say=gate.say, left=left)
    gate.host = gate.count(base, changed, gate.request.count_features, setting)
    gate.notes += gate.host.sentences()
    gate.notes += blame_notes(gate.request.told, gate.host.more_work, ())


def _by_counts(gate: GateRun, files: Files) -> Page:
    """The page where no deciding scenario exercises the change, and a counted feature ran it."""
    gate.notes.append("no scenario that decides exercises what the change touches, so nothing was timed: its count decides")
    rulings = gate.host.rulings(gate.policy, part=not files.whole)
    return gate_outputs.bare(decide((), gate.policy, notes=gate.notes, beside=rulings, today=gate.day))


# --- measuring --------------------------------------------------------------------------------------------------


def _precheck(gate: GateRun, plan: Plan, results: Path) -> None:
    """Runs the base against itself first, if the policy says so."""
    if gate.policy.aa == "first":
        precheck(
            plan.scenarios,
            gate.policy,
            shared=AA,
            results=results,
            open_runners=partial(_runners_of_itself, gate),
            console=gate.console,
            seed=gate.request.seed,
            start=gate.start if gate.open_runners is None else None,
        )


def _runners_of_itself(gate: GateRun, plan: Plan, folder: Path, say: Callable[[str], None]) -> contextlib.AbstractContextManager[Any]:
    if gate.open_runners is not None:
        return gate.open_runners(plan, folder)
    return opened(plan, gate.request.builds, folder, say, itself=True)


def _measure(gate: GateRun, plan: Plan, results: Path) -> None:
    """Runs the missing trials of the plan until every deciding metric is settled, or the time is spent."""
    check_names(plan)
    budget = None if gate.budget is None else max(gate.left, SETTLING)
    with RunProgress(gate.console, sum(len(block.order) for block in plan.blocks)) as progress:
        options: dict[str, Any] = {"budget": budget, "enough": partial(done, gate.policy), "rules": rules_for(plan.scenarios, gate.policy)}
        if gate.open_runners is not None:
            runners: Any = partial(gate.open_runners, plan, results)
        else:
            runners = partial(opened, plan, gate.request.builds, results, progress.say)
            options |= {"alone": gate.start.alone, "settle": gate.start.settle}
        ran = conduct(plan, results, runners, progress, **options)
    gate.notes += ran.warnings
    there = f", {ran.existing} were there already" if ran.existing else ""
    gate.notes.append(f"{ran.ran} trials run{there}, {duration((gate.clock() - gate.began) / 60)} in all")


def _decided(gate: GateRun, plan: Plan, results: Path, counted: Watching, files_: Files) -> Page:
    """The page with the decision. A change does not pass if nothing ran it, or if it could have been measured and was not."""
    read = store.read(results)
    try:
        only, absent = change_notes.measurable(plan, read.records)
    except CannotRun as error:
        gate.notes += str(error).splitlines()
        gate.not_covered("the base has nothing of what the scenarios exercise, so nothing was measured", gate_scenarios.WRITE_ONE)
    gone = sorted(only - {record.scenario for record in read.records})
    seen = called(counted, [one.name for one in plan.scenarios if one.name in only], read.records)
    notes = [*ran_sentences(seen), *reason_lines(borne_out(gate.reasons, seen, counted)), *gate.notes]
    notes += [*uncounted(counted, only & gate.touching, read.records), *absent]
    page = gate_outputs.decided(
        results,
        read,
        gate.policy,
        only=only,
        notes=notes,
        missing=gone,
        today=gate.day,
        part=not files_.whole,
        beside=gate.host.rulings(gate.policy, part=not files_.whole),
    )
    assert page.decision is not None  # noqa: S101 (`decided` made one)
    decision = gate_scenarios.covered(gate, page.decision, seen, counted, files_, {r.scenario for r in read.records})
    against = gate.host.contradictions([(row.scenario, row.metric, row.verdict) for one in page.scenarios for row in one.rows])
    offers = blame_notes(gate.request.told, "", decision.rulings)
    page = gate_outputs.with_decision(page, dataclasses.replace(decision, notes=(*against, *decision.notes, *offers)))
    again = tuple(dataclasses.replace(one, commands=(gate.request.command, *one.commands[1:])) for one in page.scenarios)
    return dataclasses.replace(page, scenarios=again)
