"""The gate's one command: a change against its base, as much of it as the time allows, and a decision.

In order: the policy is read, and what the change touches; both builds are made, the base first, because a base that is broken is not the
change's fault; what the change costs the host is counted; scenarios are picked (those whose code it touches, and a canary), planned to fit
the budget, run until what decides is decided, and ruled on. Whatever happens on the way ends in a decision that says whose doing it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from perfproof import store
from perfproof.analysis.judging.apply_policy import decide, stopped, unjudged
from perfproof.analysis.stats.number_format import duration
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.builds.processes import temp_files
from perfproof.changes import measure_change
from perfproof.changes.call_coverage import Called, borne_out, called, ran_told
from perfproof.changes.change_files import Files, of_branch, of_diff, of_git
from perfproof.changes.change_notes import uncounted
from perfproof.changes.count_findings import Setting, cells_of
from perfproof.changes.countable_functions import Watching
from perfproof.changes.host_count import Counting, HostCount, budget_of, count_first
from perfproof.changes.measure_change import BASE, DIFF, OpenRunners, rearmed
from perfproof.changes.scenario_selection import NEIGHBOURS, choose, differences, files, perhaps, told, touching, watched
from perfproof.changes.selection_rules import module_of, one_a_question
from perfproof.commands.run_scenarios import load
from perfproof.executor import conduct
from perfproof.gate import gate_outputs, trusted_files
from perfproof.gate.aa_precheck import vouch
from perfproof.gate.gate_budget import canaries, cheapest_first, done, fitting, minutes_for, rules_for, under
from perfproof.gate.gate_request import Asked
from perfproof.gate.trusted_files import Judges
from perfproof.model.base.clock import today as this_day
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE, BadInput, CannotRun, PerfproofError
from perfproof.model.scenarios.build import foundation
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import OverlayBuild, Profile, ReleaseBuild, Scenario
from perfproof.model.verdicts.gate_decision import Decision
from perfproof.model.verdicts.judged import Outcome
from perfproof.model.verdicts.policy import DEFAULT_POLICY, Policy, deciding
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from perfproof.report.base.page_model import Page
from perfproof.run.checks import vllm_tests
from perfproof.run.checks.catalog import exercised
from perfproof.run.host.preflight import Start
from perfproof.run.processes.attestation import NEVER_RAN
from perfproof.runners import build_faults, check_names, opened

RESULTS = Path("results/gate")
AA = RESULTS / "aa"
"""Where the base is run against itself, for all changes on this machine."""
RELEASE = "release"
"""The build that the base is laid over, where that is another commit."""
NOT_CONCLUDED = "Nothing is concluded about the change: see the reason, and run the gate again."
COMPILE = "Measure it with a build of kind 'editable' (docs/builds.md), which compiles the tree."
LOOK = "Whoever reviews it decides: the gate takes vLLM's benchmarks from the base, and judges none."
LONGER = "Measure longer (a larger --budget)."
WRITE_ONE = "Name scenarios with --scenarios, or write one for this code (docs/scenarios.md)."
SETTLING = 0.5
"""Minutes that are kept of a budget for judging and writing."""


class Settled(Exception):
    """A decision that is there before anything is judged."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.stopped)
        self.decision = decision


def gate_change(
    asked: Asked,
    console: Console | None = None,
    open_runners: OpenRunners | None = None,
    count: Counting = count_first,
    *,
    clock: Callable[[], float] = time.monotonic,
    today: date | None = None,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Decides on a change, tells it in every form that was asked for, and returns the exit code.

    `open_runners` opens the runners of a plan, `count` counts a change; tests hand in their own. Raises `BadInput` for
    a policy, an option or a commit that can't be used; what is wrong with the change or its base is a decision.
    """
    cells_of(asked.count_features)
    gate = _Gate(
        asked=asked,
        console=console or Console(),
        open_runners=open_runners,
        count=count,
        clock=clock,
        day=today or this_day(),
        began=clock(),
    )
    try:
        page = gate.run()
    except Settled as settled:
        page = gate_outputs.bare(settled.decision)
    except CannotRun as error:
        name = Path(asked.policy).stem if asked.policy else DEFAULT_POLICY.name
        page = gate_outputs.bare(stopped(name, str(error), EXIT_UNTESTABLE, todo=(NOT_CONCLUDED,), notes=gate.notes))
    return gate_outputs.tell(dataclasses.replace(page, counts=gate.host.document()), asked.outputs, gate.console, environment)


@dataclass(slots=True, kw_only=True)
class _Gate:
    """A gate at work. `notes` are what it tells of how it went, `touching` the scenarios picked for what the change touches, `reasons` why,
    whether all were `guessed`, and `wanted` those of them that decide; `host` is what was counted; `began` is when, by `clock`."""

    asked: Asked
    console: Console
    open_runners: OpenRunners | None
    count: Counting
    clock: Callable[[], float]
    day: date
    began: float
    notes: list[str] = field(default_factory=list)
    touching: set[str] = field(default_factory=set)
    reasons: Mapping[str, str] = field(default_factory=dict)
    guessed: bool = False
    wanted: list[Scenario] = field(default_factory=list)
    host: HostCount = field(default_factory=HostCount)
    policy: Policy = field(init=False)

    def run(self) -> Page:
        """The page with the decision; raises `Settled` where one is there before."""
        with temp_files.directory() as folder:
            return self._run(Path(folder))

    def _run(self, folder: Path) -> Page:
        asked = self.asked
        by = self._judges(folder)
        with trusted_files.as_of(by.base, folder):
            self.policy = self._policy_of(by)
            vllm_tests.checked(asked.tests)
            every = load(by.every, self._profile, None)
            wanted = load(by.wanted, self._profile, None) if by.wanted is not None else every
            gate_outputs.check_names(self.policy, {s.name: [choice.name for choice in s.metrics] for s in (*every, *wanted)})
            always = canaries(self.policy, every)
        docs, found = self._change()
        self.notes += by.told(found)
        self._settled_without(found)
        built = self._overlay(wanted[0], docs)
        base, changed = self._made(built)
        self._counted(base, changed)
        results = asked.results or RESULTS / asked.folder(built, self.policy)
        self._tested(base, changed, results)
        picked = self._picked(wanted, always, found.python, base, changed)
        if not picked:
            return self._by_counts(found)
        chosen = self._fitting(picked)
        counted = watched(found.python, base, changed, chosen)
        counted = dataclasses.replace(counted, unknown=()) if self.guessed else counted
        asking = [measure_change.counting(rearmed(under(one, self.policy), docs, built.label), counted, must_run=False) for one in chosen]
        plan = cheapest_first(make_plan(asking, asked.seed), self.policy)
        self._vouched(plan, results)
        self._measure(plan, results)
        return self._decided(plan, results, counted, found)

    # --- what judges, and the change ---------------------------------------------------------------------------

    def _judges(self, folder: Path) -> Judges:
        asked, change = self.asked, self.asked.change
        if change.repo is None:
            return trusted_files.of_diff(asked.policy, asked.scenarios)
        return trusted_files.of_branch(change.repo, str(change.base), asked.policy, asked.scenarios, folder)

    def _policy_of(self, by: Judges) -> Policy:
        """The policy, called what it was asked for as."""
        found = gate_outputs.policy_of(by.policy, self.day)
        return dataclasses.replace(found, source=f"{by.base}:{self.asked.policy}") if by.taken(found.source) else found

    def _change(self) -> tuple[dict[str, dict[str, Any]], Files]:
        """The builds as a scenario file would hold them, and the files of the change. A branch is compared with where it left its base."""
        change, keep = self.asked.change, RESULTS / "diffs"
        if change.repo is None:
            assert change.diff is not None  # noqa: S101 (one of the two is there)
            found, only = of_diff(change.diff, keep)
            self._note_files(found, str(change.diff.name))
            return measure_change.documents(dataclasses.replace(change, diff=only), Path.cwd()), found
        since, left = measure_change.where_it_left(change)
        repo, start, ref = str(change.repo), str(since.base), str(since.ref)
        found, part = of_branch(change.repo, start, ref, keep)
        self.notes += left
        self._note_files(found, ref)
        trusted_files.refuse_own(change.repo, str(change.base), found)
        docs = measure_change.documents(dataclasses.replace(since, diff=part), Path.cwd())
        return self._on_its_commit(docs, repo, start), found

    def _on_its_commit(self, docs: dict[str, dict[str, Any]], repo: str, start: str) -> dict[str, dict[str, Any]]:
        """The builds, with the base laid over the build that it is not."""
        if self.asked.build_ref is None:
            return docs
        between = of_git(Path(repo), self.asked.build_ref, start)
        if between.beyond:
            raise BadInput(
                f"--build-ref {self.asked.build_ref}: until the base {files(between.beyond)} changed too, which no overlay can follow: "
                "name a --build that was made from a commit nearer to the base"
            )
        if not between.python:
            return docs
        self.notes.append(f"the base is {start[:12]}, laid over {self.asked.build} ({self.asked.build_ref})")
        source = {"repo": str(Path(repo).absolute()), "ref": start, "base": self.asked.build_ref}
        over = {"kind": "overlay", "base": RELEASE, "git": source}
        return {**docs, RELEASE: docs[BASE], BASE: over}

    def _note_files(self, found: Files, what: str) -> None:
        self.notes.append(f"{what} changes {files(found.python) if found.python else 'no Python below vllm/'}")
        if found.beyond:
            self.notes.append(f"not measured, as no overlay can follow it: {files(found.beyond)}")
        if found.modes:
            self.notes.append(f"not measured, as it runs as before (a mode alone changes): {files(found.modes)}")
        if found.other:
            self.notes.append(f"not measured, as it is no part of vLLM: {files(found.other)}")

    def _settled_without(self, found: Files) -> None:
        """Settles on a change without Python that an overlay can follow: nothing to judge, or nothing that can be; that is neutral unless
        the policy has it fail."""
        if found.python:
            return
        if found.whole:
            raise Settled(
                stopped(self.policy.name, "the change touches no code of vLLM, so there is nothing to measure", EXIT_PASS, notes=self.notes)
            )
        why, todo = f"no overlay can follow what the change touches ({files(found.beyond)}), so nothing was measured", COMPILE
        if not found.beyond:
            why, todo = f"the change touches only what measures vLLM ({files(found.measures)}), so nothing was measured", LOOK
        self._not_covered(why, todo)

    def _not_covered(self, why: str, todo: str) -> NoReturn:
        """Settles on what the policy says of changes that can't be measured."""
        code = EXIT_UNTESTABLE if self.policy.not_covered == "fail" else EXIT_PASS
        todos = () if self.policy.not_covered == "pass" else (todo,)
        raise Settled(stopped(self.policy.name, why, code, todo=todos, notes=self.notes, judged=False))

    def _overlay(self, scenario: Scenario, docs: Mapping[str, Mapping[str, Any]]) -> OverlayBuild:
        build = rearmed(scenario, docs, "the change").builds[DIFF]
        assert isinstance(build, OverlayBuild)  # noqa: S101 (`documents` made it one)
        base, own = build_faults(build.base), build_faults(build)
        if base:
            raise BadInput(*base)
        if own:
            raise self._refused(own)
        return build

    def _refused(self, faults: Sequence[str]) -> Settled:
        """The change can't be used as it is: said as a decision, so that a comment tells it."""
        todo = "Mend the change, or take the diff anew; see docs/builds.md for what an overlay takes."
        return Settled(stopped(self.policy.name, "; ".join(faults), EXIT_USAGE, todo=(todo,), notes=self.notes))

    # --- builds ------------------------------------------------------------------------------------------------

    def _made(self, built: OverlayBuild) -> tuple[ReadyBuild, ReadyBuild]:
        """Both builds, ready; a base that can't be made is no fault of the change."""
        try:
            base = prepare(built.base, self.asked.builds, self._say)
        except PerfproofError as error:
            if isinstance(error, BadInput) and isinstance(foundation(built), ReleaseBuild):
                raise  # a release that there is not, a --build-ref that it was not made from: an option to mend
            todo = "See why the base can't be made ready: it fails without the change, which is not to blame."
            why = f"the base itself can't be made ready, so the change can't be judged and is not to blame: {error}"
            raise Settled(stopped(self.policy.name, why, EXIT_UNTESTABLE, todo=(todo,), notes=self.notes)) from error
        try:
            return base, prepare(built, self.asked.builds, self._say)
        except BadInput as error:
            raise self._refused(error.faults) from error

    def _tested(self, base: ReadyBuild, changed: ReadyBuild, results: Path) -> None:
        """vLLM's own tests on both builds, where asked: one that the change breaks settles it."""
        if not self.asked.tests:
            return
        tested = vllm_tests.both(base, changed, self.asked.tests, results / "tests")
        self.notes.append(measure_change.tests_note(tested))
        if tested.broken:
            why = f"{len(tested.broken)} of vLLM's own tests fail with the change alone: {'; '.join(tested.broken[:3])}"
            todo = "Mend what these tests test; nothing was measured."
            raise Settled(stopped(self.policy.name, why, EXIT_REGRESSED, todo=(todo,), notes=self.notes))

    def _counted(self, base: ReadyBuild, changed: ReadyBuild) -> None:
        """What the change costs the host, before anything is timed."""
        if self.asked.no_count:
            return
        left = budget_of(self._budget, lambda: None if self._budget is None else max(0.0, 60 * self._left))
        setting = Setting(builds=self.asked.builds, margin=self.policy.counts.smallest, say=self._say, left=left)
        self.host = self.count(base, changed, self.asked.count_features, setting)
        self.notes += self.host.sentences()

    def _by_counts(self, found: Files) -> Page:
        """The page where no scenario that decides exercises the change, and a feature that was counted ran it."""
        self.notes.append("no scenario that decides exercises what the change touches, so nothing was timed: its count decides")
        rulings = self.host.rulings(self.policy, part=not found.whole)
        return gate_outputs.bare(decide((), self.policy, notes=self.notes, beside=rulings, today=self.day))

    # --- scenarios -----------------------------------------------------------------------------------------------

    def _picked(
        self, wanted: Sequence[Scenario], always: Sequence[Scenario], paths: Sequence[str], base: ReadyBuild, changed: ReadyBuild
    ) -> list[Scenario]:
        """The scenarios that are worth measuring, the cheapest first; why these, and why not others, goes to the notes."""
        device, chosen = base.fingerprint.device or "cpu", list[Scenario]()
        if self.asked.all:
            chosen = list(one_a_question([one for one in wanted if one.device in (None, device)]))
            self.notes.append(f"all scenarios for this {device} (--all): {len(chosen)}")
            self.touching = {one.name for one in touching(chosen, paths)}
        else:
            chosen = self._near(wanted, paths, base, changed)
            self.touching = {one.name for one in chosen}
        if not chosen:
            self.notes.append("no scenario exercises what the change touches")
        names = {one.name for one in chosen}
        more = [one for one in always if one.device in (None, device) and one.name not in names]
        if more:
            self.notes.append(f"{', '.join(one.name for one in more)}: the policy's canary, measured whatever a change touches")
        self.wanted = [one for one in chosen if one.name in self.touching and deciding(one.definition, self.policy)]
        every = one_a_question([*sorted(chosen, key=lambda one: minutes_for(one, self.policy)), *more])
        found = [one for one in every if deciding(one.definition, self.policy)]
        if silent := [one.name for one in every if one not in found]:
            self.notes.append(f"not measured (no metric of theirs decides under {self.policy.name}): {', '.join(silent)}")
        if left := self.policy.lacking([one.name for one in found]):
            self.notes.append(f"named by {self.policy.name} and not chosen for this change: {', '.join(left)}")
        if not found and not self.host.ran:
            self._not_covered(
                f"no scenario that decides exercises what the change touches{self._nor_counted()}, so nothing was measured", WRITE_ONE
            )
        return found

    def _nor_counted(self) -> str:
        tried = self.host.told.tried if self.host.told else ()
        return f", nor does a feature that was counted ({', '.join(tried)})" if tried else ""

    def _near(self, wanted: Sequence[Scenario], paths: Sequence[str], base: ReadyBuild, changed: ReadyBuild) -> list[Scenario]:
        """Those whose very functions changed, or of the same files, or that may run them all the same; none where all need another device,
        or where nobody could tell."""
        named, package = self.asked.scenarios is not None, base.fingerprint.package
        near = wanted if named else touching(wanted, paths) or self._perhaps(wanted, paths, package)
        try:
            chosen = choose(near, differences(paths, base, changed, near), base.fingerprint.device, self._profile, picked=named)
        except CannotRun as error:
            self.notes += [str(error)] if near else []
            return []
        if chosen.guessed and not watched(paths, base, changed, near).functions:
            return []
        self.reasons, self.guessed = chosen.reasons, chosen.guessed
        self.notes += [note for note in chosen.left if not note.startswith(NEIGHBOURS)]
        return list(chosen.scenarios)

    def _perhaps(self, wanted: Sequence[Scenario], paths: Sequence[str], package: Path) -> list[Scenario]:
        """Scenarios of a whole vLLM of which something decides."""
        return [one for one in perhaps(wanted, paths, package) if deciding(one.definition, self.policy)]

    def _fitting(self, scenarios: Sequence[Scenario]) -> list[Scenario]:
        """As many, from the first on, as fit into what is left of the budget; what does not is told."""
        if self._budget is None:
            return list(scenarios)
        kept, skipped = fitting(scenarios, self.policy, self._left)
        if skipped:
            named = ", ".join(f"{one.name} (about {duration(minutes)})" for one, minutes in skipped)
            self.notes.append(f"skipped, as {duration(self._budget)} are not enough for all: {named}")
        return kept

    # --- measuring ------------------------------------------------------------------------------------------------

    def _vouched(self, plan: Plan, results: Path) -> None:
        """The base against itself first, where the policy says so."""
        if self.policy.aa == "first":
            vouch(
                plan.scenarios,
                self.policy,
                shared=AA,
                results=results,
                open_runners=self._runners_of_itself,
                console=self.console,
                seed=self.asked.seed,
                start=self._start if self.open_runners is None else None,
            )

    def _runners_of_itself(self, plan: Plan, folder: Path, say: Callable[[str], None]) -> contextlib.AbstractContextManager[Any]:
        if self.open_runners is not None:
            return self.open_runners(plan, folder)
        return opened(plan, self.asked.builds, folder, say, itself=True)

    def _measure(self, plan: Plan, results: Path) -> None:
        """Runs what is missing of the plan until what decides is decided, or the time is spent."""
        check_names(plan)
        budget = None if self._budget is None else max(self._left, SETTLING)
        with RunProgress(self.console, sum(len(block.order) for block in plan.blocks)) as progress:
            said: dict[str, Any] = {"budget": budget, "enough": partial(done, self.policy), "rules": rules_for(plan.scenarios, self.policy)}
            if self.open_runners is not None:
                runners: Any = partial(self.open_runners, plan, results)
            else:
                runners = partial(opened, plan, self.asked.builds, results, progress.say)
                said |= {"alone": self._start.alone, "settle": self._start.settle}
            ran = conduct(plan, results, runners, progress, **said)
        self.notes += ran.warnings
        there = f", {ran.found} were there already" if ran.found else ""
        self.notes.append(f"{ran.ran} trials run{there}, {duration((self.clock() - self.began) / 60)} in all")

    def _decided(self, plan: Plan, results: Path, counted: Watching, files_: Files) -> Page:
        """The page. Of a change that nothing ran, or that was not measured where it could have been, nothing is said to pass."""
        read = store.read(results)
        try:
            only, absent = measure_change.there(plan, read.records)
        except CannotRun as error:
            self.notes += str(error).splitlines()
            self._not_covered("the base has nothing of what the scenarios exercise, so nothing was measured", WRITE_ONE)
        gone = sorted(only - {record.scenario for record in read.records})
        seen = called(counted.functions, [one.name for one in plan.scenarios if one.name in only], read.records)
        notes = [*ran_told(seen), *told(borne_out(self.reasons, seen, counted)), *self.notes]
        notes += [*uncounted(counted, only & self.touching, read.records), *absent]
        page = gate_outputs.decided(
            results,
            read,
            self.policy,
            only=only,
            notes=notes,
            missing=gone,
            today=self.day,
            part=not files_.whole,
            beside=self.host.rulings(self.policy, part=not files_.whole),
        )
        assert page.decision is not None  # noqa: S101 (`decided` made one)
        found = self._covered(page.decision, seen, counted, files_, {r.scenario for r in read.records})
        against = self.host.contradictions([(row.scenario, row.metric, row.verdict) for one in page.scenarios for row in one.rows])
        page = gate_outputs.with_decision(page, dataclasses.replace(found, notes=(*against, *found.notes)))
        again = tuple(dataclasses.replace(one, commands=(self.asked.command, *one.commands[1:])) for one in page.scenarios)
        return dataclasses.replace(page, scenarios=again)

    def _covered(self, decision: Decision, seen: Called, counted: Watching, found: Files, measured: Collection[str]) -> Decision:
        """The decision, but for a pass of a change that was not shown to have run: that is not judged, or, where more time would have done
        it, no pass."""
        if not decision.passes:
            return decision
        ran = {name.partition(":")[0] for names in seen.ran.values() for name in names}
        if left := self._left_out(found.python, measured, ran):
            return unjudged(decision, f"{left} could have been measured, and was not", EXIT_UNTESTABLE, LONGER)
        code = EXIT_UNTESTABLE if self.policy.not_covered == "fail" else EXIT_PASS
        zero = counted.functions and not counted.unknown and any(seen.anywhere.values()) and not seen.ran
        if zero and not self.host.ran:
            return unjudged(decision, f"{NEVER_RAN}: nothing called {files(counted.functions)}", code, WRITE_ONE)
        if not seen.ran and not self.host.ran and not self.touching & set(measured):
            return unjudged(decision, "no scenario that decides exercises what the change touches", code, WRITE_ONE)
        if not found.whole and not any(ruling.verdict not in (None, Outcome.UNTESTABLE) for ruling in decision.deciding):
            rest = files([*found.beyond, *found.measures])
            return unjudged(decision, f"the change does not run without what was not laid over the base ({rest})", code, COMPILE)
        return decision

    def _left_out(self, paths: Sequence[str], measured: Collection[str], ran: Collection[str]) -> str:
        """The touched files whose scenarios were picked, and left nothing for want of time; "" where there are none."""
        modules = {module_of(path): path for path in paths}
        asked = {one.name: {target.partition(":")[0] for target in exercised(one)} & modules.keys() for one in self.wanted}
        done = {module for name, mine in asked.items() if name in measured for module in mine} | set(ran)
        return files(sorted({modules[module] for mine in asked.values() for module in mine - done}))

    # --- small things ---------------------------------------------------------------------------------------------

    @property
    def _profile(self) -> Profile:
        return self.asked.profile or self.policy.profile

    @property
    def _budget(self) -> float | None:
        return self.asked.budget or self.policy.budget

    @property
    def _left(self) -> float:
        """Minutes of the budget that are left for measuring."""
        return (self._budget or 0.0) - (self.clock() - self.began) / 60 - SETTLING

    @property
    def _start(self) -> Start:
        return Start(what="perfproof gate", profile=self._profile, wait=self.asked.wait, anyway=self.asked.anyway)

    def _say(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)
