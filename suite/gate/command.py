"""The gate's one command: a change against its base, as much of it as the time allows, and a decision.

In order: the policy is read, and what the change touches; scenarios are picked (those whose code it touches, and a canary); both builds are
made, the base first, because a base that is broken is not the change's fault; the scenarios are planned to fit the budget, run until
what decides is decided, and ruled on. Whatever happens on the way ends in a decision that says whose doing it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from suite import store
from suite.analysis.rulings import stopped
from suite.analysis.words import duration
from suite.builds import git
from suite.builds.prepare import prepare
from suite.builds.ready import ReadyBuild
from suite.changes import proposing
from suite.changes.choosing import NEIGHBOURS, choose, differences, files, scenario_files, touching, watched
from suite.changes.files import Files, of_diff, of_git
from suite.changes.proposing import BASE, DIFF, OpenLanes, rearmed
from suite.changes.saying import uncounted
from suite.changes.selecting import one_a_question
from suite.changes.watching import Watching
from suite.conduct import conduct
from suite.gate import telling
from suite.gate.asked import Asked
from suite.gate.rationing import canaries, cheapest_first, done, fitting, minutes_for, rules_for, under
from suite.gate.vouching import vouch
from suite.lanes import build_faults, check_names, opened
from suite.model.build import foundation
from suite.model.clock import today as this_day
from suite.model.decision import Decision
from suite.model.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE, BadInput, CannotRun, PerfproofError
from suite.model.plan import Plan
from suite.model.policy import DEFAULT_POLICY, Policy, deciding
from suite.model.scenario import OverlayBuild, Profile, ReleaseBuild, Scenario
from suite.planning import make_plan
from suite.progress import RunProgress
from suite.report.nouns import Page
from suite.run import upstream
from suite.run.start import Start
from suite.session import load

RESULTS = Path("results/gate")
AA = RESULTS / "aa"
"""Where the base is run against itself, for all changes on this machine."""
RELEASE = "release"
"""The build that the base is laid over, where that is another commit."""
NOT_CONCLUDED = "Nothing is concluded about the change: see the reason, and run the gate again."
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
    open_lanes: OpenLanes | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
    today: date | None = None,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Decides on a change, tells it in every form that was asked for, and returns the exit code.

    `open_lanes` gives the lanes of a plan and results folder: tests hand in their own. Raises `BadInput` for a policy, an option or a
    commit that can't be used; what is wrong with the change or its base is a decision.
    """
    gate = _Gate(asked=asked, console=console or Console(), open_lanes=open_lanes, clock=clock, day=today or this_day(), began=clock())
    try:
        page = gate.run()
    except Settled as settled:
        page = telling.bare(settled.decision)
    except CannotRun as error:
        name = Path(asked.policy).stem if asked.policy else DEFAULT_POLICY.name
        page = telling.bare(stopped(name, str(error), EXIT_UNTESTABLE, todo=(NOT_CONCLUDED,), notes=gate.notes))
    return telling.tell(page, asked.outputs, gate.console, environment)


@dataclass(slots=True, kw_only=True)
class _Gate:
    """A gate at work. `notes` are what it tells of how it went, `touching` the scenarios picked for what the change touches; `began` is
    when, by `clock`."""

    asked: Asked
    console: Console
    open_lanes: OpenLanes | None
    clock: Callable[[], float]
    day: date
    began: float
    notes: list[str] = field(default_factory=list)
    touching: set[str] = field(default_factory=set)
    policy: Policy = field(init=False)

    def run(self) -> Page:
        """The page with the decision; raises `Settled` where one is there before."""
        asked = self.asked
        self.policy = telling.policy_of(asked.policy, self.day)
        upstream.checked(asked.tests)
        every = load(scenario_files(), self._profile, None)
        wanted = load(asked.scenarios, self._profile, None) if asked.scenarios is not None else every
        telling.check_names(self.policy, {s.name: [choice.name for choice in s.metrics] for s in (*every, *wanted)})
        always = canaries(self.policy, every)
        docs, found = self._change()
        self._refuse_what_is_beyond(found)
        built = self._overlay(wanted[0], docs)
        base, changed = self._made(built)
        picked = self._picked(wanted, always, found.python, base, changed)
        results = asked.results or RESULTS / asked.folder(built, self.policy)
        self._tested(base, changed, results)
        chosen = self._fitting(picked)
        counted = watched(found.python, base, changed, chosen)
        asking = [proposing.counting(rearmed(under(one, self.policy), docs, built.label), counted, must_run=False) for one in chosen]
        plan = cheapest_first(make_plan(asking, asked.seed), self.policy)
        self._vouched(plan, results)
        self._measure(plan, results)
        return self._decided(plan, results, counted)

    # --- the change ------------------------------------------------------------------------------------------

    def _change(self) -> tuple[dict[str, dict[str, Any]], Files]:
        """The builds as a scenario file would hold them, and the files of the change. A branch is compared with where it left its base."""
        change = self.asked.change
        if change.repo is None:
            assert change.diff is not None  # noqa: S101 (one of the two is there)
            found, only = of_diff(change.diff, RESULTS / "diffs")
            self._note_files(found, str(change.diff.name))
            return proposing.documents(dataclasses.replace(change, diff=only), Path.cwd()), found
        repo, ref = str(change.repo), change.ref or "HEAD"
        start = git.merge_base(repo, str(change.base), ref)
        found = of_git(change.repo, start, ref)
        self._note_files(found, f"{ref} against {start[:12]}, where it left {change.base}")
        docs = proposing.documents(dataclasses.replace(change, base=start, ref=ref), Path.cwd())
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
        if found.other:
            self.notes.append(f"not measured, as it is no part of vLLM: {files(found.other)}")
        if not found.python and not found.beyond:
            raise Settled(
                stopped(self.policy.name, "the change touches no code of vLLM, so there is nothing to measure", EXIT_PASS, notes=self.notes)
            )

    def _refuse_what_is_beyond(self, found: Files) -> None:
        if found.beyond:
            todo = "Measure it with a build of kind 'editable' (docs/builds.md), which compiles the tree."
            self._not_covered(f"no overlay can follow what the change touches ({files(found.beyond)}), so nothing was measured", todo)

    def _not_covered(self, why: str, todo: str) -> NoReturn:
        """Settles on what the policy says of changes that can't be measured."""
        code = EXIT_UNTESTABLE if self.policy.not_covered == "fail" else EXIT_PASS
        todos = () if self.policy.not_covered == "pass" else (todo,)
        raise Settled(stopped(self.policy.name, why, code, todo=todos, notes=self.notes))

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
        tested = upstream.both(base, changed, self.asked.tests, results / "tests")
        self.notes.append(proposing.tests_note(tested))
        if tested.broken:
            why = f"{len(tested.broken)} of vLLM's own tests fail with the change alone: {'; '.join(tested.broken[:3])}"
            todo = "Mend what these tests test; nothing was measured."
            raise Settled(stopped(self.policy.name, why, EXIT_REGRESSED, todo=(todo,), notes=self.notes))

    # --- scenarios -----------------------------------------------------------------------------------------------

    def _picked(
        self, wanted: Sequence[Scenario], always: Sequence[Scenario], paths: Sequence[str], base: ReadyBuild, changed: ReadyBuild
    ) -> list[Scenario]:
        """The scenarios that are worth measuring, the cheapest first; why these, and why not others, goes to the notes."""
        device, chosen = base.fingerprint.device or "cpu", list[Scenario]()
        if self.asked.all:
            chosen = list(one_a_question([one for one in wanted if one.device in (None, device)]))
            self.notes.append(f"all scenarios for this {device} (--all): {len(chosen)}")
        elif near := wanted if self.asked.scenarios is not None else touching(wanted, paths):
            chosen = self._near(near, paths, base, changed)
            self.touching = {one.name for one in chosen}
        if not chosen:
            self.notes.append("no scenario exercises what the change touches")
        names = {one.name for one in chosen}
        more = [one for one in always if one.device in (None, device) and one.name not in names]
        if more:
            self.notes.append(f"{', '.join(one.name for one in more)}: the policy's canary, measured whatever a change touches")
        every = one_a_question([*sorted(chosen, key=lambda one: minutes_for(one, self.policy)), *more])
        found = [one for one in every if deciding(one.definition, self.policy)]
        if silent := [one.name for one in every if one not in found]:
            self.notes.append(f"not measured (no metric of theirs decides under {self.policy.name}): {', '.join(silent)}")
        if left := self.policy.lacking([one.name for one in found]):
            self.notes.append(f"named by {self.policy.name} and not chosen for this change: {', '.join(left)}")
        if not found:
            self._not_covered("no scenario that decides exercises what the change touches, so nothing was measured", WRITE_ONE)
        return found

    def _near(self, near: Sequence[Scenario], paths: Sequence[str], base: ReadyBuild, changed: ReadyBuild) -> list[Scenario]:
        """Those whose very functions changed, or of the same files; none where all need another device."""
        try:
            named = self.asked.scenarios is not None
            chosen, notes = choose(near, differences(paths, base, changed, near), base.fingerprint.device, self._profile, picked=named)
        except CannotRun as error:
            self.notes.append(str(error))
            return []
        self.notes += [note for note in notes if not note.startswith(NEIGHBOURS)]
        return chosen

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
                open_lanes=self._lanes_of_itself,
                console=self.console,
                seed=self.asked.seed,
                start=self._start if self.open_lanes is None else None,
            )

    def _lanes_of_itself(self, plan: Plan, folder: Path, say: Callable[[str], None]) -> contextlib.AbstractContextManager[Any]:
        if self.open_lanes is not None:
            return self.open_lanes(plan, folder)
        return opened(plan, self.asked.builds, folder, say, itself=True)

    def _measure(self, plan: Plan, results: Path) -> None:
        """Runs what is missing of the plan until what decides is decided, or the time is spent."""
        check_names(plan)
        budget = None if self._budget is None else max(self._left, SETTLING)
        with RunProgress(self.console, sum(len(block.order) for block in plan.blocks)) as progress:
            said: dict[str, Any] = {"budget": budget, "enough": partial(done, self.policy), "rules": rules_for(plan.scenarios, self.policy)}
            if self.open_lanes is not None:
                lanes: Any = partial(self.open_lanes, plan, results)
            else:
                lanes = partial(opened, plan, self.asked.builds, results, progress.say)
                said |= {"alone": self._start.alone, "settle": self._start.settle}
            ran = conduct(plan, results, lanes, progress, **said)
        self.notes += ran.warnings
        there = f", {ran.found} were there already" if ran.found else ""
        self.notes.append(f"{ran.ran} trials run{there}, {duration((self.clock() - self.began) / 60)} in all")

    def _decided(self, plan: Plan, results: Path, counted: Watching) -> Page:
        """The page. Where nothing ran the changed code, though the scenario was picked for it, that is a note and fails nothing."""
        read = store.read(results)
        try:
            only, absent = proposing.there(plan, read.records)
        except CannotRun as error:
            self.notes += str(error).splitlines()
            self._not_covered("the base has nothing of what the scenarios exercise, so nothing was measured", WRITE_ONE)
        idle = uncounted(counted, only & self.touching, read.records)
        gone = sorted(only - {record.scenario for record in read.records})
        notes = [*self.notes, *idle, *absent]
        page = telling.decided(results, read, self.policy, only=only, notes=notes, missing=gone, today=self.day)
        again = tuple(dataclasses.replace(one, commands=(self.asked.command, *one.commands[1:])) for one in page.scenarios)
        return dataclasses.replace(page, scenarios=again)

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
