"""The contributor's one command: base against base plus a change, over the scenarios whose code it touches.

In order: the change is read and its scenarios are chosen by the files that it touches, before anything is made; both builds are made; what
the change costs the host is counted; the functions that differ say which of these scenarios to measure; vLLM's own tests run on both, where
asked; then the scenarios are planned and conducted with two new arms (`base`, `diff`) in place of their own, and the verdicts, the pull
request's text and the report are written. Where no scenario exercises the change, its count is the answer. A test that it breaks ends the
command, and so does a change that no scenario exercises and that could not be counted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from perfproof import store
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.overlays import git_changes, overlay, unified_diff
from perfproof.builds.prepare import prepare
from perfproof.changes.call_coverage import NOT_TESTED, about_answers, borne_out, called, idle_before, sentences
from perfproof.changes.change_notes import TIMES_NOT_TESTED, counted_alone, foretold, settled, uncounted
from perfproof.changes.count_findings import Setting, cells_of
from perfproof.changes.countable_functions import Watching
from perfproof.changes.host_count import Counting, HostCount, budget_of, count_first
from perfproof.changes.scenario_selection import (
    NEIGHBOURS,
    Chosen,
    by_files,
    choose,
    differences,
    files,
    nothing_exercises,
    package_of,
    scenario_files,
    told,
    watched,
)
from perfproof.commands import record_verdicts
from perfproof.commands.run_scenarios import load
from perfproof.executor import conduct
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, BadInput, CannotRun
from perfproof.model.documents.build_spec import EXPECTED, parse_build
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
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
from perfproof.run.kinds.micro.micro_result import NOT_HERE
from perfproof.run.trials.runner import Runner
from perfproof.runners import build_faults, check_names, opened

BASE, DIFF = "base", "diff"
"""The arms, and the builds that they run on."""
RESULTS = Path("results/pr")
OpenRunners = Callable[[Plan, Path], contextlib.AbstractContextManager[Callable[[Scenario], Runner]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to be measured: a diff file, or what git says differs between two commits; `build` is the base in one word."""

    build: str
    diff: Path | None
    repo: Path | None
    ref: str | None
    base: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How to measure it. `scenarios` is None for those that the change picks; `results` None for a folder that belongs to the change."""

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


def contribute(
    change: Change,
    wanted: Wanted,
    console: Console | None = None,
    open_runners: OpenRunners | None = None,
    count: Counting = count_first,
) -> int:
    """Counts and measures a change; the default policy decides the exit code, a broken test is a regression, untested answers are no pass.

    `open_runners` opens the runners of a plan, `count` counts a change; tests hand in their own. Raises `BadInput` for
    a change that can't be read, or that no scenario exercises and no count could be made of.
    """
    console, left = console or Console(), counted_down(wanted.budget)
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    since, behind = where_it_left(change)
    docs = documents(since, Path.cwd())
    vllm_tests.checked(wanted.tests)
    cells_of(wanted.count_features)
    scenarios = load(wanted.scenarios or scenario_files(), wanted.profile, wanted.blocks)
    built = _overlay(scenarios[0], docs)
    paths = unified_diff.touched(unified_diff.read_diff(overlay.change_of(built), overlay.words_of(built)))
    near, nothing = _near(scenarios, paths, package_of(built, wanted.builds), wanted)
    with enough_to_begin(wanted.budget, left()):
        base, changed = prepare(built.base, wanted.builds, say), prepare(built, wanted.builds, say)
    notes = [f"{built.base.label} against {built.label}", *behind]
    for note in notes:
        say(note)
    record_verdicts.clear(wanted.text, wanted.report)
    setting = Setting(builds=wanted.builds, margin=DEFAULT_POLICY.counts.smallest, say=say, left=budget_of(wanted.budget, left))
    host = HostCount() if wanted.no_count else count(base, changed, wanted.count_features, setting)
    for told_ in host.sentences():
        say(told_)
    counted, results = watched(paths, base, changed, near), wanted.results or RESULTS / _folder(built, wanted)
    with enough_to_begin(wanted.budget, left()):
        tested = vllm_tests.both(base, changed, wanted.tests, results / "tests") if wanted.tests else None
    if tested is not None:
        if _tell_tests(tested, built, say):
            return EXIT_REGRESSED
        notes = [*notes, tests_note(tested)]
    notes[0] = f"{notes[0]}, which changes {files(paths)}"
    command = _command(change, wanted)
    try:
        if nothing is not None:
            raise nothing
        chosen = _chosen(
            near, scenarios, paths, (base, changed), counted, wanted, [rearmed(one, docs, built.label) for one in near], results
        )
    except (BadInput, CannotRun) as error:
        if host.told is None:
            raise
        return _counted_alone(host, host.code(DEFAULT_POLICY), error, notes, wanted, command, console)
    counted = dataclasses.replace(counted, unknown=()) if chosen.guessed else counted
    for note in chosen.told:
        say(note)
    plan = make_plan([counting(rearmed(scenario, docs, built.label), counted) for scenario in chosen.scenarios], wanted.seed)
    for line in foretold(plan, results):
        say(line)
    seconds = left()
    try:
        _measure(plan, results, wanted, console, open_runners, None if seconds is None else seconds / 60)
        code = _conclude(plan, results, counted, chosen, host, notes, wanted, command, console)
    except CannotRun as error:
        if not host.ran:
            raise
        return _counted_alone(host, host.code(DEFAULT_POLICY) or EXIT_INCONCLUSIVE, error, notes, wanted, command, console)
    say(f"text for the pull request: {wanted.text}\nreport: {wanted.report}\nrecords: {results}; the same command goes on from there")
    return code


def _near(
    scenarios: Sequence[Scenario], paths: Sequence[str], package: Path | None, wanted: Wanted
) -> tuple[Sequence[Scenario], BadInput | None]:
    """The scenarios of the touched files, or that there are none, which ends a command that is not to count."""
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
    paths: Sequence[str],
    sides: tuple[ReadyBuild, ReadyBuild],
    counted: Watching,
    wanted: Wanted,
    asked: Sequence[Scenario],
    results: Path,
) -> Chosen:
    """The scenarios to measure. Raises `BadInput` or `CannotRun` where there is none."""
    base, changed = sides
    idle = idle_before(asked, counted, base, _others(results))
    differing = differences(paths, base, changed, near)
    named = wanted.scenarios is not None
    chosen = choose(near, differing, base.fingerprint.device, wanted.profile, picked=named, idle=idle)
    if chosen.guessed and not counted.functions:
        raise nothing_exercises(scenarios, paths, base.fingerprint.package)
    return chosen


def _counted_alone(
    host: HostCount, code: int, untimed: Exception, notes: Sequence[str], wanted: Wanted, command: str, console: Console
) -> int:
    """Writes text and report of a change of which there is a count and no time; the exit code."""
    why = str(untimed).splitlines()[0]
    told_ = [notes[0], *host.sentences(), *notes[1:], f"no times: {why}", f"the same command again: {command}"]
    block = record_verdicts.show_counted(host.headline, told_, console, report=wanted.report, text=wanted.text)
    if wanted.print_text:
        console.print(block, highlight=False, markup=False, soft_wrap=True)
    console.print(f"no times: {why}", style="bold yellow", highlight=False, markup=False, soft_wrap=True)
    console.print(f"{host.headline} (exit code {code})", style="bold", highlight=False, markup=False, soft_wrap=True)
    console.print(f"text for the pull request: {wanted.text}\nreport: {wanted.report}", highlight=False, markup=False, soft_wrap=True)
    return code


def _conclude(
    plan: Plan,
    results: Path,
    counted: Watching,
    chosen: Chosen,
    host: HostCount,
    notes: Sequence[str],
    wanted: Wanted,
    command: str,
    console: Console,
) -> int:
    """Judges what ran the change, writes text and report, and tells what decided; the exit code. A scenario that never ran it is told and
    decides nothing, where another did; that nothing got worse is no pass where answers were asked for and not tested."""
    read = store.read(results)
    only, absent = there(plan, read.records)
    about = about_answers(plan.scenarios) & only
    found = called(counted.functions, [one.name for one in plan.scenarios if one.name in only], read.records)
    deciding = only - set(found.aside)
    ran, why = list(sentences(found, about)), told(borne_out(chosen.reasons, found, counted))
    kept = [note for note in chosen.left if not note.startswith(NEIGHBOURS)]
    unsure = uncounted(counted, deciding, read.records) if counted.unknown else []
    notes = [notes[0], *host.sentences(), *ran, *notes[1:], *why, *kept, *unsure, *absent]

    def against(rows: Sequence[Judged]) -> Sequence[str]:
        ran.extend(found := host.contradictions([(row.scenario, row.metric, row.verdict) for row in rows]))
        return found

    block, decision = record_verdicts.show_change(
        results, read, console, report=wanted.report, text=wanted.text, only=deciding, notes=notes, command=command, against=against
    )
    code = decision.exit_code
    if wanted.print_text:
        console.print(block, highlight=False, markup=False, soft_wrap=True)
    counts_say = host.code(DEFAULT_POLICY) if host.ran else EXIT_PASS
    if host.ran and not found.ran and set(found.idle) == only:
        code = counts_say
        ran.append(f"no scenario ran the change, so its count is the answer: {host.headline} (exit code {code})")
    elif untimed := counted_alone(decision, read.records):
        code = EXIT_INCONCLUSIVE
        ran.append(
            f"nothing got worse that is counted, but {TIMES_NOT_TESTED} of {', '.join(untimed)}: the machine was busy (exit code {code})"
        )
    elif code == EXIT_PASS and found.untested(about) and (about or wanted.scenarios is None):
        code = EXIT_INCONCLUSIVE
        ran.append(f"nothing got worse, but that is no pass as long as these answers are untested (exit code {code})")
    if code in (EXIT_PASS, EXIT_INCONCLUSIVE) and counts_say != EXIT_PASS:
        code = counts_say
        ran.append(f"no scenario is worse, but that is no pass: {host.headline} (exit code {code})")
    for line in ran:
        loud = NOT_TESTED in line or TIMES_NOT_TESTED in line
        console.print(line, style="bold yellow" if loud else "", highlight=False, markup=False, soft_wrap=True)
    return code


# --- the builds and the arms ---------------------------------------------------------------------------------


def where_it_left(change: Change) -> tuple[Change, list[str]]:
    """A branch with the commit where it left its base in the base's place, which is told; what the base gained since is none of its doing.

    A diff stays as it is. Raises `BadInput` for commits that are not there, or have none in common.
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
    """The scenario with its workload, metrics and margins, and two arms: the base and the change, each without patches and with the
    baseline's own settings. Its definition holds the hash of the change, so that the same change goes on and another one doesn't mix."""
    own = {key: value for key, value in scenario.definition["arms"][scenario.baseline.name].items() if key not in ("build", "patches")}
    arms = {name: {**own, "baseline": name == BASE, "build": name} for name in (BASE, DIFF)}
    told = f"{scenario.name}: what does {label} change against its base?"
    definition = {**scenario.definition, "question": told, "builds": dict(docs), "arms": arms}
    made = git_changes.pinned(scenario_of(definition, source=scenario.source, folder=Path(scenario.source).parent))
    return dataclasses.replace(made, exercises=scenario.exercises, device=scenario.device)


def counting(scenario: Scenario, found: Watching, *, must_run: bool = True) -> Scenario:
    """The rearmed scenario with the changed functions counted in both arms: where none of them ran, nothing was shown.

    Such a trial is unattested if one of them must run; else it counts, and `uncounted` tells of it.
    """
    more = bool(found.unknown) or not must_run
    arms = (dataclasses.replace(arm, changed=found.functions, changes_more=more) for arm in scenario.arms)
    return dataclasses.replace(scenario, arms=tuple(arms))


def _overlay(scenario: Scenario, docs: Mapping[str, Mapping[str, Any]]) -> OverlayBuild:
    """The build of the change. Raises `BadInput` for all that can be known to be wrong with it before anything is made."""
    build = rearmed(scenario, docs, "the change").builds[DIFF]
    assert isinstance(build, OverlayBuild)  # noqa: S101 (`documents` made it one)
    if faults := build_faults(build):
        raise BadInput(*faults)
    return build


def _folder(build: OverlayBuild, wanted: Wanted) -> str:
    """The name of a results folder that belongs to this change, measured in this way: an edited diff begins a new one."""
    name = build.diff.name if build.diff else build.git.ref if build.git else ""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name.rsplit(".", 1)[0])[:40].strip(".-")
    asked = f"{build.key} {wanted.profile} {wanted.blocks} {wanted.seed}"
    return f"{plain or 'change'}-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"


def _others(results: Path) -> list[Path]:
    """The results folders of other changes."""
    return [folder for folder in RESULTS.glob("*/") if folder.resolve() != results.resolve()]


# --- tests, trials, words ------------------------------------------------------------------------------------


def _tell_tests(tested: vllm_tests.Compared, build: OverlayBuild, say: Callable[[str], object]) -> bool:
    """Says what the change did to vLLM's own tests; whether it breaks any."""
    say(tests_note(tested))
    for what, tests in (("fails on both", tested.failing), ("mended", tested.mended), ("skipped with the change only", tested.skipped)):
        for test in tests[:10]:
            say(f"  {what}: {test}")
        if len(tests) > 10:
            say(f"  and {len(tests) - 10} more")
    for test in tested.broken:
        say(f"  broken: {test}")
    if tested.broken:
        say(f"{len(tested.broken)} of vLLM's own tests fail with the change alone: mend it first; nothing was measured")
    return bool(tested.broken)


def tests_note(tested: vllm_tests.Compared) -> str:
    """What vLLM's own tests said, in a sentence."""
    counts = {
        "pass on both arms": tested.passed,
        "pass on the base and fail with the change": len(tested.broken),
        "fail on both, which is not blamed on the change": len(tested.failing),
        "fail on the base and pass with the change": len(tested.mended),
        "pass on the base and are skipped with the change": len(tested.skipped),
    }
    return "vLLM's own tests: " + (", ".join(f"{count} {what}" for what, count in counts.items() if count) or "all were skipped")


def _measure(plan: Plan, results: Path, wanted: Wanted, console: Console, open_runners: OpenRunners | None, budget: float | None) -> None:
    """Runs what is missing of the plan, in so many minutes."""
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
    there = f", {done.found} were there already" if done.found else ""
    console.print(f"{done.ran} trials run{there}, {done.seconds['total'] / 60:.1f} minutes", highlight=False)


def there(plan: Plan, records: Sequence[Record]) -> tuple[set[str], list[str]]:
    """The scenarios that the base can be measured by, and a sentence for each that it can't. Raises `CannotRun` where there is none."""
    absent: dict[str, str] = {}
    for scenario in plan.scenarios:
        mine = [record for record in records if record.scenario == scenario.name and record.arm == BASE]
        if mine and all(record.status == "failed" and record.reason.startswith(NOT_HERE) for record in mine):
            absent[scenario.name] = mine[-1].reason
    told = [f"not measured (the base lacks what it exercises): {name}: {why}" for name, why in absent.items()]
    only = {scenario.name for scenario in plan.scenarios} - set(absent)
    if not only:
        raise CannotRun("\n".join(told))
    return only, told


def _command(change: Change, wanted: Wanted) -> str:
    """The command that measures this again, as somebody else would type it."""
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
    if wanted.scenarios is not None:
        words += ["--scenarios", *(f"scenarios/{path.name}" for path in wanted.scenarios)]
    return shlex.join([*words, "--results", AGAIN])


def _shown(path: Path) -> str:
    """A path below the working folder as told from there, of any other its name alone: the rest may name a home."""
    whole, here = Path(os.path.abspath(path)), Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) and whole != here else whole.name
