"""The verbs `run`, `calibrate`, `plan`, `setup` and `doctor`: one function each, which returns the exit code.

Each reads like a table of contents. Tests pass their own console and clock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from perfproof import store
from perfproof.analysis.trials.paired_trials import latest, spoilt_for
from perfproof.analysis.verdicts import calibration
from perfproof.commands import calibrate as calibrating
from perfproof.commands import record_verdicts
from perfproof.commands.calibrate import Calibrated, OpenRunners, Say, against_itself, as_measured
from perfproof.executor import Conducted, conduct
from perfproof.model.base import clock
from perfproof.model.base.errors import EXIT_PASS, EXIT_UNTESTABLE, BadInput
from perfproof.model.documents.decode import load_scenario
from perfproof.model.installed.scenario_folders import located
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import LEAST_BLOCKS, Profile, Scenario
from perfproof.model.verdicts.noise_floor import Floor, machine_fingerprint, workload_digests
from perfproof.planning import Estimate, estimates, make_plan
from perfproof.progress import RunProgress
from perfproof.run.checks.resume import already, as_asked_before, left
from perfproof.run.host.preflight import Start
from perfproof.run.host.time_budget import counted_down

Part = Callable[[Plan], Plan]
"""Gives the part of a plan that one job runs."""
BLOCKS = 8
"""The blocks of a calibration by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The request that `run`, `calibrate` and `plan` share: the scenarios, and the folder of their records.

    `baseline` and `candidate` replace the builds of the scenarios' arms (`model.documents.build_spec`); `blocks` None means the scenario's
    own design.
    """

    scenarios: Sequence[Path]
    profile: Profile
    seed: int
    blocks: int | None
    results: Path
    baseline: str | None = None
    candidate: str | None = None

    def load(self) -> list[Scenario]:
        """The requested scenarios; see `load`."""
        return load(self.scenarios, self.profile, self.blocks, self.baseline, self.candidate)


# --- run ----------------------------------------------------------------------------------------------


def run(
    request: RunRequest,
    start: Start,
    *,
    builds: Path,
    report: Path | None,
    budget: float | None,
    part: Part | None = None,
    console: Console | None = None,
) -> int:
    """Plans, checks, runs the missing trials, prints the verdicts and the time spent; the default policy decides the exit code.

    `budget` is minutes, after which it ends. Of a `part` of the plan nothing is judged: its verdict comes from all parts, merged. Its
    exit code says whether every trial of it is whole.
    """
    console = console or Console()
    plan = make_plan([as_asked_before(one, request.results) for one in request.load()], request.seed)
    plan = part(plan) if part else plan
    from perfproof.run.checks.gpu_choice import choose_gpus
    from perfproof.runners import check_arms, check_names, opened

    check_names(plan)
    check_arms(plan, {})
    choose_gpus(plan.scenarios, partial(console.print, highlight=False, markup=False))
    for sentence in _distrusted(plan, request.results):
        console.print(sentence, style="bold red", highlight=False, markup=False)
    with RunProgress(console, sum(len(block.order) for block in plan.blocks)) as progress:
        runners = partial(opened, plan, builds, request.results, progress.say)
        options: dict[str, Any] = {"alone": start.alone, "settle": start.settle}
        more: Mapping[str, Any] = {"enough": never, "spread": True} if part else {"count_anyhow": True}
        done = conduct(plan, request.results, runners, progress, budget=budget, **options, **more)
    if part:
        return _end_of_part(plan, request.results, done, console)
    code = record_verdicts.show(request.results, console, report, only={scenario.name for scenario in plan.scenarios})
    page = "" if report is not None else f"; perfproof report --results {request.results} --out report.html makes a page of them"
    console.print(f"records: {request.results}{page}", highlight=False, markup=False, soft_wrap=True)
    _show_time(done, console)
    return code


def never(judged: object) -> bool:
    """Whether a part of a plan is decided: it looks at nothing, for looks are planned over all parts."""
    return False


def _end_of_part(plan: Plan, results: Path, done: Conducted, console: Console) -> int:
    """Prints which blocks were measured, and what is wrong with a trial of theirs."""
    scenarios = {one.name: one for one in plan.scenarios}
    wanted = {(block.scenario.name, block.number, arm) for block in plan.blocks for arm in block.order}
    trials = {one.trial: one for one in latest(store.records_in(results)) if one.trial in wanted}
    spoilt = [one for one in trials.values() if one.status in ("failed", "unattested") or spoilt_for(scenarios[one.scenario], one)]
    odd = [f"block {one.block}, {one.arm}: {one.status}: {one.reason}" for one in spoilt]
    missing = [f"block {number}, {arm}: not measured" for name, number, arm in sorted(wanted - trials.keys())]
    for sentence in (*done.warnings, *odd, *missing):
        console.print(sentence, style="yellow", highlight=False, markup=False)
    for scenario in plan.scenarios:
        blocks = [str(block.number) for block in plan.blocks if block.scenario is scenario]
        what = f"block{'s' if len(blocks) > 1 else ''} {', '.join(blocks)} of {scenario.most_blocks}"
        console.print(f"{scenario.name}: {what} in {results}; 'perfproof merge' joins it with the others", highlight=False, markup=False)
    return EXIT_UNTESTABLE if odd or missing else EXIT_PASS


def load(
    files: Sequence[Path], profile: Profile, blocks: int | None, baseline: str | None = None, candidate: str | None = None
) -> list[Scenario]:
    """Every scenario of the files or names, on the requested builds. Raises `BadInput` with all faults of all files at once."""
    from perfproof.builds.overlays.commit_files import pinned

    if blocks is not None and blocks < LEAST_BLOCKS:
        raise BadInput(f"--blocks {blocks}: a timed metric is not judged on fewer than {LEAST_BLOCKS} blocks: ask for so many or more")
    scenarios: list[Scenario] = []
    faults: list[str] = []
    for file in files:
        try:
            made = load_scenario(located(file), profile, blocks=blocks, baseline=baseline, candidate=candidate, here=Path.cwd())
            scenarios.append(pinned(made))
        except BadInput as error:
            faults += [_of_option(fault, {"baseline": baseline, "candidate": candidate}) for fault in error.faults]
    names = [scenario.name for scenario in scenarios]
    faults += [f"{name}: named twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    if faults:
        raise BadInput(*faults)
    return scenarios


def _of_option(fault: str, given: Mapping[str, str | None]) -> str:
    """A fault of a build that an option named, without the scenario that the build was put into."""
    for option, spec in given.items():
        _, named, rest = fault.partition(f"builds.given_{option}.")
        if named:
            return f"--{option} {spec}: {rest}"
    return fault


def _show_time(done: Conducted, console: Console) -> None:
    """Prints the time spent: one line per phase, the longest first."""
    for warning in done.warnings:
        console.print(warning, style="yellow", highlight=False, markup=False)
    console.print(f"{done.ran} trials run" + (f", {done.existing} were there already" if done.existing else ""), highlight=False)
    phases = {name: seconds for name, seconds in done.seconds.items() if name != "total"}
    other = done.seconds["total"] - sum(phases.values())
    for name, seconds in sorted({**phases, "between trials": max(0.0, other)}.items(), key=lambda item: -item[1]):
        if seconds >= 0.05:
            console.print(f"  {name:<24}{seconds:8.1f} s", highlight=False)
    console.print(f"  {'in all':<24}{done.seconds['total']:8.1f} s", highlight=False)


def _distrusted(plan: Plan, results: Path) -> list[str]:
    """One sentence for each scenario whose times can't be judged because an A/A of this machine failed, before they are measured."""
    from perfproof.run.host import environment

    floors = store.read_floors(results)
    machine = environment.machine() if floors else {}
    machines, hosts = ({machine_fingerprint(machine)}, {str(machine.get("host"))}) if floors else (set(), set())
    trusts = {s.name: calibration.trusted(floors, machines, workload_digests(s.definition), hosts) for s in plan.scenarios}
    return [f"{name}: its times will be untestable: {trust.distrust}" for name, trust in trusts.items() if trust.distrust]


# --- calibrate ----------------------------------------------------------------------------------------


def calibrate(
    request: RunRequest,
    start: Start | None,
    *,
    builds: Path,
    second_install: bool,
    budget: float | None = None,
    console: Console | None = None,
    open_runners: OpenRunners | None = None,
    now: Callable[[], str] = clock.now,
) -> int:
    """Runs each scenario's baseline against itself, prints and stores the noise of the machine; untestable if any A/A failed.

    Where the results folder has records of a scenario, their baseline is meant. With `second_install` the other side of each A/A is a
    second install of the same release. `start` is None to start without waiting. `budget` is minutes, after which it ends.
    """
    from perfproof.run.checks.gpu_choice import choose_gpus
    from perfproof.runners import check_names
    from perfproof.runners import second_install as install_again

    console = console or Console()
    say = partial(console.print, highlight=False, markup=False)
    left = counted_down(budget)
    scenarios = [
        against_itself(
            one, request.blocks or BLOCKS, install_again(one.builds[one.baseline.build], builds, say) if second_install else None
        )
        for one in (as_measured(each, request.results, say) for each in request.load())
    ]
    check_names(make_plan(scenarios, request.seed))
    choose_gpus(scenarios, say)
    runners = open_runners or partial(_itself, builds)
    failed = False
    for scenario in scenarios:
        seconds = left()
        minutes = None if seconds is None else seconds / 60
        progress = partial(RunProgress, console)
        result = calibrating.calibrate(
            scenario, request.results, runners, progress, seed=request.seed, now=now, start=start, budget=minutes
        )
        _show_calibration(result, request.results, console)
        failed = failed or bool(result.failed)
    return EXIT_UNTESTABLE if failed else EXIT_PASS


def _itself(builds: Path, plan: Plan, folder: Path, say: Say) -> Any:
    """Opens the runners of an A/A, whose arms run the same code on purpose."""
    from perfproof.runners import opened

    return opened(plan, builds, folder, say, itself=True)


def _show_calibration(result: Calibrated, results: Path, console: Console) -> None:
    """Prints the results of an A/A, one sentence per number."""
    console.print(f"[bold]{result.scenario.name}[/]  the baseline against itself, {result.scenario.blocks} blocks", highlight=False)
    for floor in result.floors:
        word, style = ("passed", "green") if floor.passed else ("failed", "bold red")
        mark = f"[{style}]{word}[/]" if floor.primary else "[dim]spread[/]"
        console.print(f"  {mark}  [bold]{floor.metric}[/]", highlight=False)
        for sentence in calibration.sentences(result.checked[floor.metric], tested=floor.primary):
            console.print(f"          {sentence}", highlight=False, markup=False)
    for sentence in result.lost:
        console.print(f"  {sentence}", highlight=False, markup=False)
    _show_time(result.done, console)
    if result.failed:
        console.print(
            "until an A/A passes, no verdict on a time is given for this machine and workload in this results folder", style="bold red"
        )
    console.print(f"noise floor: {store.floors_file(results, result.floors[0].machine)}", highlight=False, markup=False)


# --- plan ----------------------------------------------------------------------------------------------


def plan(request: RunRequest, *, builds: Path, as_json: bool, console: Console | None = None) -> int:
    """Prints what a run would do, and which builds it would make. Starts nothing and writes nothing."""
    console = console or Console()
    made = make_plan(request.load(), request.seed)
    from perfproof.run.checks.gpu_choice import choose_gpus
    from perfproof.run.host import environment
    from perfproof.runners import check_arms, check_names, to_make

    check_names(made)
    check_arms(made, {})
    choose_gpus(made.scenarios, lambda message: None)
    kept, floors = _kept(request.results), store.read_floors(request.results)
    estimated = estimates(made, kept, floors, machine_fingerprint(environment.machine()))
    todo, refused = _left(made, request.results, floors)
    lacking = to_make(made.builds(), builds)
    if as_json:
        print(json.dumps({**_plan_document(made, estimated, todo), "builds_to_make": lacking}, indent=1))
        return EXIT_PASS
    for fault in refused:
        console.print(f"a run into {request.results} would be refused: {fault}", style="bold red", highlight=False, markup=False)
    console.print(f"[bold]builds[/]  {escape(', '.join(build.label for build in made.builds()))}", highlight=False)
    if lacking:
        console.print(f"  to be made in {builds}: {', '.join(lacking)}", highlight=False, markup=False)
    for one in estimated:
        console.print(f"[bold]{one.scenario}[/]  about {one.minutes:.1f} min ({one.source})", highlight=False)
        for sentence in (*_going_on(one, todo), *one.power.sentences):
            console.print(f"  {sentence}", highlight=False, markup=False)
    for block in made.blocks:
        console.print(f"  block {block.number:>3}  {block.scenario.name:<24} {' then '.join(block.order)}", highlight=False)
    minutes = sum(one.minutes * todo[one.scenario] / one.trials for one in estimated)
    console.print(f"at most {minutes:.0f} minutes after the builds are made; a decided scenario stops early", highlight=False)
    return EXIT_PASS


def _kept(results: Path) -> Sequence[Record]:
    """The records of a results folder, which may not exist yet."""
    store.check_folder(results)
    return store.records_in(results)


def _left(made: Plan, results: Path, floors: Sequence[Floor]) -> tuple[Mapping[str, int], Sequence[str]]:
    """The number of trials of each scenario that a run still has to make, and why the existing records would refuse a run."""
    try:
        return left(made, already(made, results)[0], floors), ()
    except BadInput as error:
        return left(made, (), floors), error.faults


def _going_on(one: Estimate, todo: Mapping[str, int]) -> list[str]:
    """A sentence on the rest of a scenario that was measured in part."""
    count = todo[one.scenario]
    if count == one.trials:
        return []
    if not count:
        return ["nothing is left to measure: it is decided, or complete"]
    return [f"{count} trials are left, about {one.minutes * count / one.trials:.1f} min; the others exist already"]


def _plan_document(made: Plan, estimated: Sequence[Estimate], todo: Mapping[str, int]) -> dict[str, Any]:
    """What `plan --json` prints."""
    return {
        "schema": 1,
        "seed": made.seed,
        "builds": [build.label for build in made.builds()],
        "minutes": {one.scenario: {"estimate": one.minutes, "from": one.source} for one in estimated},
        "foresight": {
            one.scenario: {
                "told": list(one.power.sentences),
                "metrics": {name: [asdict(look) for look in looks] for name, looks in one.power.looks.items()},
            }
            for one in estimated
        },
        "minutes_in_all": sum(one.minutes for one in estimated),
        "left": dict(todo),
        "trials": [{"scenario": b.scenario.name, "block": b.number, "order": list(b.order), "seed": b.seed} for b in made.blocks],
    }


# --- machine ------------------------------------------------------------------------------------------------


def setup(files: Sequence[Path], *, profile: Profile, builds: Path, console: Console | None = None) -> int:
    """Makes the builds that the scenarios need, or the default one."""
    from perfproof.runners import default_build, prepare_all

    console = console or Console()
    wanted = make_plan(load(files, profile, None), 0).builds() if files else [default_build()]
    for ready in prepare_all(wanted, builds, lambda message: console.print(message, highlight=False, markup=False)):
        console.print(f"{ready.label}: {ready.interpreter}", highlight=False, markup=False)
    return EXIT_PASS


def doctor(*, builds: Path, console: Console | None = None) -> int:
    """Prints what this machine can run, and why not."""
    from perfproof.run.host.doctor import examine

    console = console or Console()
    for finding in examine(builds):
        mark, style = {"ok": ("yes", "green"), "warn": ("but", "yellow"), "no": ("no", "red")}[finding.state]
        console.print(f"[{style}]{mark:>4}[/]  [bold]{finding.what:<31}[/] {escape(finding.words)}", highlight=False)
    return EXIT_PASS
