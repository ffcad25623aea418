"""The contributor's one command: base against base plus a change, over the scenarios whose code it touches.

In order: the change is read, and the files that it touches choose its scenarios, before anything is made; both builds are made; what the
change costs the host is counted; the functions that differ choose among the scenarios; vLLM's own tests run on both builds, if wanted. Then
the scenarios are planned and run with two new arms (`base`, `diff`) in place of their own, and the verdicts, the pull request's text and
the report are written. Where no scenario exercises the change, its count is the answer. A test that the change breaks ends the command, and
so does a change that no scenario exercises and that could not be counted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from perfproof import store
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.changes.call_coverage import NOT_TESTED, about_answers, borne_out, called, idle_before, sentences
from perfproof.changes.change_builds import Change, ChangeBuilds, blame_note, builds_of, counting, documents, rearmed, where_it_left
from perfproof.changes.change_notes import (
    TIMES_NOT_TESTED,
    conclusion,
    duration_estimates,
    measurable,
    settled,
    tests_note,
    uncounted,
    vllm_test_lines,
)
from perfproof.changes.countable_functions import Watching
from perfproof.changes.counting.count_findings import Setting, cells_of
from perfproof.changes.counting.host_count import Counting, HostCount, budget_of, count_first
from perfproof.changes.scenario_selection import (
    NEIGHBOURS,
    Chosen,
    by_files,
    choose,
    differences,
    files,
    nothing_exercises,
    package_of,
    reason_lines,
    watched,
)
from perfproof.commands import record_verdicts
from perfproof.commands.run_scenarios import load
from perfproof.executor import conduct
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_REGRESSED, BadInput, CannotRun
from perfproof.model.installed import extras
from perfproof.model.installed.scenario_folders import scenario_files
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import OverlayBuild, Profile, Scenario
from perfproof.model.verdicts.judged import Judged
from perfproof.model.verdicts.policy import DEFAULT_POLICY
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from perfproof.report.extract.facts import AGAIN
from perfproof.run.checks import vllm_tests
from perfproof.run.host.preflight import Start
from perfproof.run.host.time_budget import counted_down, enough_to_begin
from perfproof.run.trials.runner import Runner
from perfproof.runners import check_names, opened

__all__ = ["Change", "OpenRunners", "Wanted", "contribute", "documents", "load", "rearmed", "where_it_left"]

RESULTS = Path("results/pr")
OpenRunners = Callable[[Plan, Path], contextlib.AbstractContextManager[Callable[[Scenario], Runner]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How to measure it. `scenarios` is None for those that the change picks, and one that was written for `bench` where
    that is named; `results` None for a folder that belongs to the change."""

    scenarios: Sequence[Path] | None
    tests: Sequence[Path]
    profile: Profile
    seed: int
    blocks: int | None
    budget: float | None
    results: Path | None
    builds: Path
    text: Path
    report: Path
    print_text: bool
    wait: float
    anyway: bool
    no_count: bool
    count_features: Sequence[str]
    bench: Path | None = None

    @property
    def page(self) -> Path | None:
        """The file of the page; None where this install can't draw one."""
        return None if extras.lacking("report") else self.report

    @property
    def written(self) -> str:
        """Where the text and the page are."""
        page = self.page or f"none: a page {extras.without('report', extras.lacking('report'))}"
        return f"text for the pull request: {self.text}\nreport: {page}"


def contribute(
    change: Change,
    wanted: Wanted,
    console: Console | None = None,
    open_runners: OpenRunners | None = None,
    count: Counting = count_first,
) -> int:
    """Counts and measures a change. The default policy decides the exit code: a broken test is a regression, untested answers are no pass.

    `open_runners` opens the runners of a plan, `count` counts a change; tests pass their own. Raises `BadInput` for a change that can't be
    read, or that no scenario exercises and that could not be counted.
    """
    console, left = console or Console(), counted_down(wanted.budget)
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    since, behind = where_it_left(change)
    vllm_tests.checked(wanted.tests)
    cells_of(wanted.count_features)
    scenarios = load(wanted.scenarios or scenario_files(), wanted.profile, wanted.blocks)
    builds = builds_of(since, scenarios[0])
    built = builds.overlay
    near, nothing = _near(scenarios, builds.paths, package_of(built, wanted.builds), wanted)
    with enough_to_begin(wanted.budget, left()):
        base, changed = prepare(built.base, wanted.builds, say), prepare(built, wanted.builds, say)
    notes = [f"{built.base.label} against {built.label}", *behind]
    for note in notes:
        say(note)
    record_verdicts.clear(wanted.text, wanted.report)
    setting = Setting(builds=wanted.builds, margin=DEFAULT_POLICY.counts.smallest, say=say, left=budget_of(wanted.budget, left))
    host = HostCount() if wanted.no_count else count(base, changed, wanted.count_features, setting)
    for sentence in [*host.sentences(), *([blame_note(since, host.more_work)] if host.more_work else [])]:
        say(sentence)
    results = wanted.results or RESULTS / _folder(built, wanted)
    with enough_to_begin(wanted.budget, left()):
        tested = vllm_tests.both(base, changed, wanted.tests, results / "tests") if wanted.tests else None
    for line in vllm_test_lines(tested) if tested is not None else ():
        say(line)
    if tested is not None and tested.broken:
        return EXIT_REGRESSED
    notes = [f"{notes[0]}, which changes {files(builds.paths)}", *notes[1:], *([tests_note(tested)] if tested is not None else [])]
    answer = _Answer(host=host, notes=notes, wanted=wanted, command=_command(change, wanted), console=console)
    functions = watched(builds.paths, base, changed, near)
    try:
        if nothing is not None:
            raise nothing
        chosen = _chosen(near, scenarios, builds, (base, changed), functions, wanted, results)
    except (BadInput, CannotRun) as error:
        if host.findings is None:
            raise
        return answer.by_count(host.code(DEFAULT_POLICY), error)
    functions = dataclasses.replace(functions, unknown=()) if chosen.guessed else functions
    for line in chosen.lines:
        say(line)
    plan = make_plan([counting(builds.rearmed(scenario), functions) for scenario in chosen.scenarios], wanted.seed)
    for line in duration_estimates(plan, results):
        say(line)
    seconds = left()
    try:
        _measure(plan, results, wanted, console, open_runners, None if seconds is None else seconds / 60)
        code = answer.by_scenarios(plan, results, functions, chosen)
    except CannotRun as error:
        if not host.ran:
            raise
        return answer.by_count(host.code(DEFAULT_POLICY) or EXIT_INCONCLUSIVE, error)
    say(f"{wanted.written}\nrecords: {results}; the same command goes on from there")
    return code


def _near(
    scenarios: Sequence[Scenario], paths: Sequence[str], package: Path | None, wanted: Wanted
) -> tuple[Sequence[Scenario], BadInput | None]:
    """The scenarios of the touched files, or the error that there are none, which ends the command with `--no-count`."""
    if wanted.scenarios is not None:
        return scenarios, None
    try:
        return by_files(scenarios, paths, package), None
    except BadInput as nothing:
        if wanted.no_count:
            raise
        return (), nothing


def _chosen(
    near: Sequence[Scenario],
    scenarios: Sequence[Scenario],
    builds: ChangeBuilds,
    sides: tuple[ReadyBuild, ReadyBuild],
    functions: Watching,
    wanted: Wanted,
    results: Path,
) -> Chosen:
    """The scenarios to measure. Raises `BadInput` or `CannotRun` where there is none."""
    base, changed = sides
    idle = idle_before([builds.rearmed(one) for one in near], functions, base, _others(results))
    differing = differences(builds.paths, base, changed, near)
    named = wanted.scenarios is not None
    chosen = choose(near, differing, base.fingerprint.device, wanted.profile, picked=named, idle=idle)
    if chosen.guessed and not functions.functions:
        raise nothing_exercises(scenarios, builds.paths, base.fingerprint.package)
    return chosen


def _folder(build: OverlayBuild, wanted: Wanted) -> str:
    """The name of the results folder of this change with these settings; an edited diff starts a new one."""
    name = build.diff.name if build.diff else build.git.ref if build.git else ""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name.rsplit(".", 1)[0])[:40].strip(".-")
    identity = f"{build.key} {wanted.profile} {wanted.blocks} {wanted.seed}"
    return f"{plain or 'change'}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def _others(results: Path) -> list[Path]:
    """The results folders of other changes."""
    return [folder for folder in RESULTS.glob("*/") if folder.resolve() != results.resolve()]


def _measure(plan: Plan, results: Path, wanted: Wanted, console: Console, open_runners: OpenRunners | None, budget: float | None) -> None:
    """Runs the missing trials of the plan within a budget of minutes."""
    check_names(plan)
    start = Start(what="perfproof pr", profile=wanted.profile, wait=wanted.wait, anyway=wanted.anyway)
    with RunProgress(console, sum(len(block.order) for block in plan.blocks)) as progress:
        if open_runners is not None:
            done = conduct(plan, results, lambda: open_runners(plan, results), progress, budget=budget, enough=settled)
        else:
            runners = partial(opened, plan, wanted.builds, results, progress.say)
            done = conduct(plan, results, runners, progress, alone=start.alone, settle=start.settle, budget=budget, enough=settled)
    for warning in done.warnings:
        console.print(warning, style="yellow", highlight=False, markup=False)
    there = f", {done.existing} were there already" if done.existing else ""
    console.print(f"{done.ran} trials run{there}, {done.seconds['total'] / 60:.1f} minutes", highlight=False)


# --- the answer ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What goes into the answer on a change besides its verdicts, and where the answer goes."""

    host: HostCount
    notes: Sequence[str]
    wanted: Wanted
    command: str
    console: Console

    def by_count(self, code: int, untimed: Exception) -> int:
        """Writes text and report of a change that has a count and no times. Returns the exit code."""
        why = str(untimed).splitlines()[0]
        notes = [self.notes[0], *self.host.sentences(), *self.notes[1:], f"no times: {why}", f"the same command again: {self.command}"]
        block = record_verdicts.show_counted(
            self.host.headline, notes, counts=self.host.document(), report=self.wanted.page, text=self.wanted.text
        )
        if self.wanted.print_text:
            self._say(block)
        self._say(f"no times: {why}", style="bold yellow")
        self._say(f"{self.host.headline} (exit code {code})", style="bold")
        self._say(self.wanted.written)
        return code

    def by_scenarios(self, plan: Plan, results: Path, functions: Watching, chosen: Chosen) -> int:
        """Judges the scenarios that ran the change, writes text and report, and says what decided. Returns the exit code.

        A scenario that never ran the change does not decide if another one did. Where answers should be tested and were not, "nothing got
        worse" is not a pass.
        """
        read = store.read(results)
        only, absent = measurable(plan, read.records)
        about = about_answers(plan.scenarios) & only
        calls = called(functions.functions, [one.name for one in plan.scenarios if one.name in only], read.records)
        deciding = only - set(calls.aside)
        ran, why = list(sentences(calls, about)), reason_lines(borne_out(chosen.reasons, calls, functions))
        kept = [note for note in chosen.left if not note.startswith(NEIGHBOURS)]
        unsure = uncounted(functions, deciding, read.records) if functions.unknown else []
        notes = [self.notes[0], *self.host.sentences(), *ran, *self.notes[1:], *why, *kept, *unsure, *absent]

        def against(rows: Sequence[Judged]) -> Sequence[str]:
            ran.extend(lines := self.host.contradictions([(row.scenario, row.metric, row.verdict) for row in rows]))
            return lines

        block, decision = record_verdicts.show_change(
            results,
            read,
            self.console,
            report=self.wanted.page,
            text=self.wanted.text,
            only=deciding,
            notes=notes,
            command=self.command,
            against=against,
            counts=self.host.document(),
        )
        if self.wanted.print_text:
            self._say(block)
        untested = bool(calls.untested(about)) and bool(about or self.wanted.scenarios is None)
        code, more = conclusion(decision, read.records, self.host, untested=untested, no_calls=not calls.ran and set(calls.idle) == only)
        for line in [*ran, *more]:
            self._say(line, style="bold yellow" if NOT_TESTED in line or TIMES_NOT_TESTED in line else "")
        return code

    def _say(self, text: str, style: str = "") -> None:
        self.console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


# --- the command ---------------------------------------------------------------------------------------------


def _command(change: Change, wanted: Wanted) -> str:
    """The command that measures this again, for anybody to type."""
    words = ["perfproof", "pr"]
    if change.diff is not None:
        words += ["--diff", _shown(change.diff)]
    else:
        words += ["--git", _shown(change.repo) if change.repo else "", "--ref", str(change.ref), "--base", str(change.base)]
    build = change.build if "/" not in change.build else "path/to/python"
    words += ["--build", build, "--profile", wanted.profile]
    words += ["--seed", str(wanted.seed)] if wanted.seed else []
    words += ["--blocks", str(wanted.blocks)] if wanted.blocks else []
    words += ["--no-count"] if wanted.no_count else []
    words += ["--count-features", ",".join(wanted.count_features)] if wanted.count_features else []
    if wanted.tests:
        words += ["--tests", *(vllm_tests.shown(path) for path in wanted.tests)]
    if wanted.bench is not None:
        words += ["--bench", wanted.bench.name]
    elif wanted.scenarios is not None:
        words += ["--scenarios", *(f"scenarios/{path.name}" for path in wanted.scenarios)]
    return shlex.join([*words, "--results", AGAIN])


def _shown(path: Path) -> str:
    """A path relative to the working folder if it lies below it, else its name alone: the rest may name a home folder."""
    whole, here = Path(os.path.abspath(path)), Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) and whole != here else whole.name
