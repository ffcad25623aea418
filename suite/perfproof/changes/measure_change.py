"""The contributor's one command: base against base plus a change, over the scenarios whose code it touches.

In order: the change is read, and the files that it touches choose its scenarios, before anything is made; both builds are made; what the
change costs the host is counted; the functions that differ choose among the scenarios; vLLM's own tests run on both builds, if wanted. Then
the scenarios are planned and run with two new arms (`base`, `diff`) in place of their own, and the verdicts, the pull request's text and
the report are written. Where no scenario exercises the change, its count is the answer. A test that the change breaks ends the command.
Wherever it ends, and whenever its budget does, a text says what is known and what is missing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from perfproof import store
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.changes.answer_budget import AnswerBudget
from perfproof.changes.call_coverage import called, earlier_records, idle_before
from perfproof.changes.change_answer import Answer, Wanted
from perfproof.changes.change_builds import Change, ChangeBuilds, blame_notes, builds_of, counting, documents, rearmed, where_it_left
from perfproof.changes.change_notes import settled, tests_note, vllm_test_lines
from perfproof.changes.countable_functions import Watching
from perfproof.changes.counting.count_findings import Setting, cells_of
from perfproof.changes.counting.host_count import Counting, HostCount, count_first
from perfproof.changes.counting.known_features import no_room
from perfproof.changes.scenario_selection import (
    NO_CALLS,
    Calls,
    Chosen,
    by_files,
    calling,
    choose,
    differences,
    files,
    nothing_exercises,
    observed,
    package_of,
    watched,
)
from perfproof.changes.time_estimates import TrialTime, duration_estimates, fitting, trial_times
from perfproof.changes.typed_command import command_of
from perfproof.commands import record_verdicts
from perfproof.commands.run_scenarios import load
from perfproof.executor import conduct
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_REGRESSED, CannotRun
from perfproof.model.installed.scenario_folders import scenario_files
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import OverlayBuild, Scenario
from perfproof.model.verdicts.policy import DEFAULT_POLICY
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from perfproof.run.checks import vllm_tests
from perfproof.run.host.preflight import Start
from perfproof.run.host.time_budget import NothingMeasured, enough_to_begin, nothing_measured
from perfproof.run.trials.runner import Runner
from perfproof.runners import check_names, opened
from perfproof.tracking.released_scenario import with_alternating_rounds

__all__ = ["Change", "OpenRunners", "Wanted", "contribute", "documents", "load", "rearmed", "where_it_left"]

RESULTS = Path("results/pr")
OpenRunners = Callable[[Plan, Path], contextlib.AbstractContextManager[Callable[[Scenario], Runner]]]


def contribute(
    change: Change,
    wanted: Wanted,
    console: Console | None = None,
    open_runners: OpenRunners | None = None,
    count: Counting = count_first,
) -> int:
    """Counts and measures a change. The default policy decides the exit code: a broken test is a regression, untested answers are no pass.

    Whatever goes wrong once the change has been read, and whenever the budget ends, text and report say what is known and what is missing.
    `open_runners` opens the runners of a plan, `count` counts a change; tests pass their own. Raises `BadInput` for a change that can't be
    read.
    """
    console, budget = console or Console(), AnswerBudget(minutes=wanted.budget, began=wanted.began.at, slowness=wanted.began.slowness())
    since, behind = where_it_left(change)
    vllm_tests.checked(wanted.tests)
    cells_of(wanted.count_features)
    scenarios = [with_alternating_rounds(one) for one in load(wanted.scenarios or scenario_files(), wanted.profile, wanted.blocks)]
    builds = builds_of(since, scenarios[0])
    notes = [f"{builds.overlay.base.label} against {builds.overlay.label}", *behind]
    again, goes_on = (command_of(change, wanted, again=again) for again in (True, False))
    answer = Answer(
        wanted=wanted,
        command=again,
        goes_on=goes_on,
        console=console,
        files=files(builds.paths),
        notes=notes,
        offers=partial(blame_notes, since, ""),
    )
    run = _Run(
        change=since,
        wanted=wanted,
        budget=budget,
        builds=builds,
        scenarios=scenarios,
        answer=answer,
        open_runners=open_runners,
        count=count,
    )
    record_verdicts.clear(wanted.text, wanted.report)
    try:
        return run.to_its_answer()
    except NoScenario as none:
        return answer.without_times(none, answer.host.code(DEFAULT_POLICY))
    except CannotRun as error:
        return answer.without_times(error, answer.host.code(DEFAULT_POLICY) or EXIT_INCONCLUSIVE)


class NoScenario(CannotRun):
    """No scenario can measure the change: its count is the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The steps from a change that was read to its answer; what was found out so far is in `answer`, wherever it ends."""

    change: Change
    wanted: Wanted
    budget: AnswerBudget
    builds: ChangeBuilds
    scenarios: Sequence[Scenario]
    answer: Answer
    open_runners: OpenRunners | None
    count: Counting

    def to_its_answer(self) -> int:
        """Makes, counts, tests, chooses and measures; returns the exit code. Raises `CannotRun` where it ends without times."""
        wanted, built, answer = self.wanted, self.builds.overlay, self.answer
        near = self._near(package_of(built, wanted.builds))
        with self._in_time():
            base, changed = prepare(built.base, wanted.builds, answer.say), prepare(built, wanted.builds, answer.say)
        for note in answer.notes:
            answer.say(note)
        functions = watched(self.builds.paths, base, changed, near)
        seen = NO_CALLS if wanted.scenarios is not None else observed(self.scenarios, functions, base, wanted.builds)
        self._count(base, changed, [one.name for one in calling(self.scenarios, seen)], alone=not near)
        results = wanted.results or RESULTS / _folder(built, wanted)
        if not self._passes_tests(base, changed, results):
            return answer.stopped(EXIT_REGRESSED)
        earlier = earlier_records(_others(results))
        times = trial_times(self.scenarios, [*_own_records(results), *earlier], answer.host.importing)
        chosen = self._chosen(near, (base, changed), functions, seen, times, earlier)
        functions = dataclasses.replace(functions, unknown=()) if chosen.guessed else functions
        for line in chosen.lines:
            answer.say(line)
        asked = [counting(self.builds.rearmed(scenario), functions) for scenario in chosen.scenarios]
        plan = self._measured(asked, times, functions, results)
        return answer.by_scenarios(plan, results, functions, chosen, base)

    def _in_time(self) -> contextlib.AbstractContextManager[None]:
        """A context that ends with the time for measuring."""
        return enough_to_begin(self.wanted.budget, self.budget.left())

    def _near(self, package: Path | None) -> Sequence[Scenario]:
        """The scenarios that may measure the touched files; none where nothing names them and no whole vLLM is started."""
        if self.wanted.scenarios is not None:
            return self.scenarios
        return by_files(self.scenarios, self.builds.paths, package)

    def _count(self, base: ReadyBuild, changed: ReadyBuild, by: Sequence[str], *, alone: bool) -> None:
        """Counts what the change costs the host, before anything is timed. `by` are scenarios that are known to call it; `alone` says that
        nothing is to be timed besides."""
        if self.wanted.no_count:
            return
        setting = Setting(
            builds=self.wanted.builds,
            margin=DEFAULT_POLICY.counts.smallest,
            say=self.answer.say,
            left=self.budget.counting(alone=alone),
            slowness=self.budget.slowness,
            others=bool(by),
        )
        why_not = "" if self.wanted.count_features else no_room(base, changed, by, setting)
        self.answer.host = HostCount(failed=why_not) if why_not else self.count(base, changed, self.wanted.count_features, setting)
        host = self.answer.host
        for sentence in [*host.sentences(), *blame_notes(self.change, host.more_work, ())]:
            self.answer.say(sentence)

    def _passes_tests(self, base: ReadyBuild, changed: ReadyBuild, results: Path) -> bool:
        """Whether vLLM's own tests, if any are wanted, pass with the change as they do on the base."""
        if not self.wanted.tests:
            return True
        with self._in_time():
            tested = vllm_tests.both(base, changed, self.wanted.tests, results / "tests")
        for line in vllm_test_lines(tested):
            self.answer.say(line)
        self.answer.notes = [*self.answer.notes, tests_note(tested), *(f"broken: {test}" for test in tested.broken)]
        return not tested.broken

    def _chosen(
        self,
        near: Sequence[Scenario],
        sides: tuple[ReadyBuild, ReadyBuild],
        functions: Watching,
        seen: Calls,
        times: Mapping[str, TrialTime],
        earlier: Sequence[Record],
    ) -> Chosen:
        """The scenarios to measure, the cheapest first. Raises `BadInput` for what is not Python, `NoScenario` where there is none."""
        base, changed = sides
        named = self.wanted.scenarios is not None
        near = near if named else [*near, *(one for one in calling(self.scenarios, seen) if one not in near)]
        if not near:
            raise NoScenario(nothing_exercises(self.scenarios, self.builds.paths, base.fingerprint.package))
        idle = idle_before([self.builds.rearmed(one) for one in near], functions, base, earlier)
        differing = differences(self.builds.paths, base, changed, near)
        seconds = {name: one.seconds for name, one in times.items()}
        device, profile = base.fingerprint.device, self.wanted.profile
        try:
            chosen = choose(near, differing, device, profile, picked=named, idle=idle, calls=seen, seconds=seconds)
        except CannotRun as error:
            raise NoScenario(str(error)) from error
        if chosen.guessed and not functions.functions:
            raise NoScenario(nothing_exercises(self.scenarios, self.builds.paths, base.fingerprint.package))
        return chosen

    def _measured(self, asked: Sequence[Scenario], times: Mapping[str, TrialTime], functions: Watching, results: Path) -> Plan:
        """Measures the scenarios that fit into the budget, and returns their plan. Raises `CannotRun` where none was measured.

        Where one of them turns out never to run the change, the time that it leaves belongs to the next that fit.
        """
        done: list[Scenario] = []
        beside = False
        while True:
            rest = [one for one in asked if one not in done]
            kept, self.answer.missing = fitting(rest, times, self.budget.left(), beside=beside)
            if not kept and not done:
                raise CannotRun("; ".join(self.answer.missing))
            for sentence in self.answer.missing:
                self.answer.say(sentence)
            if kept:
                try:
                    self._measure(make_plan(kept, self.wanted.seed), times, results)
                except CannotRun as error:
                    if not done:
                        raise
                    self.answer.missing = (*self.answer.missing, f"not timed: {', '.join(one.name for one in kept)}: {error}")
                    kept = ()
            done += kept
            if not kept or len(done) == len(asked):
                return make_plan(done, self.wanted.seed)
            calls = called(functions, [one.name for one in done], _own_records(results))
            idle = [one.name for one in kept if one.name in calls.idle]
            if not idle:
                return make_plan(done, self.wanted.seed)
            beside = bool(calls.ran)
            self.answer.say(f"never ran the change, so that the time left belongs to the next: {', '.join(idle)}")

    def _measure(self, plan: Plan, times: Mapping[str, TrialTime], results: Path) -> None:
        """Runs the missing trials of the plan within what is left of the budget, after telling how long they take."""
        for line in duration_estimates(plan, results, times):
            self.answer.say(line)
        seconds = {one.name: times[one.name].block(one) for one in plan.scenarios}
        check_names(plan)
        wanted, console, left = self.wanted, self.answer.console, self.budget.left()
        start = Start(what="perfproof pr", profile=wanted.profile, wait=self.budget.waiting(wanted.wait), anyway=wanted.anyway)
        options: dict[str, Any] = {"budget": None if left is None else left / 60, "enough": settled, "seconds": seconds}
        with RunProgress(console, sum(len(block.order) for block in plan.blocks)) as progress:
            if self.open_runners is not None:
                runners: Any = partial(self.open_runners, plan, results)
            else:
                runners = partial(opened, plan, wanted.builds, results, progress.say)
                options |= {"alone": start.alone, "settle": start.settle}
            try:
                done = conduct(plan, results, runners, progress, **options)
            except NothingMeasured as over:
                raise CannotRun(nothing_measured(wanted.budget or 0.0)) from over
        done.with_trials(wanted.budget)
        for warning in done.warnings:
            console.print(warning, style="yellow", highlight=False, markup=False)
        there = f", {done.existing} were there already" if done.existing else ""
        console.print(f"{done.ran} trials run{there}, {done.seconds['total'] / 60:.1f} minutes", highlight=False)


def _folder(build: OverlayBuild, wanted: Wanted) -> str:
    """The name of the results folder of this change with these settings; an edited diff starts a new one."""
    name = build.diff.name if build.diff else build.git.ref if build.git else ""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name.rsplit(".", 1)[0])[:40].strip(".-")
    identity = f"{build.key} {wanted.profile} {wanted.blocks} {wanted.seed}"
    return f"{plain or 'change'}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def _others(results: Path) -> list[Path]:
    """The results folders of other changes."""
    return [folder for folder in RESULTS.glob("*/") if folder.resolve() != results.resolve()]


def _own_records(results: Path) -> Sequence[Record]:
    """What the folder of this change has already."""
    return store.records_in(results) if results.is_dir() else ()
