"""The baseline against itself, through the same code that compares arms: `perfproof calibrate`.

A scenario becomes its A/A (two arms of equal code, `baseline` and `again`), which is planned, run and paired like any other. Its
results are kept as noise floors, which later plans and verdicts in the same results folder read. Every A/A has
its own folder under `calibration/`; an interrupted one continues.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from perfproof import store
from perfproof.analysis.judging import aa_check
from perfproof.analysis.trials import invalidation
from perfproof.analysis.verdicts.calibration import Calibration
from perfproof.executor import Conducted, at_once, conduct
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.documents.decode import scenario_of
from perfproof.model.kinds import kind_of
from perfproof.model.scenarios.metrics import is_timed
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import PythonBuild, Scenario
from perfproof.model.verdicts.noise_floor import Floor, workload_digests
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from perfproof.run.checks.resume import here
from perfproof.run.host.preflight import Start
from perfproof.run.trials.runner import Runner

Say = Callable[[str], None]
OpenRunners = Callable[[Plan, Path, Say], contextlib.AbstractContextManager[Callable[[Scenario], Runner]]]

SPENT = "the time budget is spent"
"""What a run says that its budget ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """One scenario's A/A: the calibration of each metric, the stored noise floors, the CPU time lost to others, and the run itself."""

    scenario: Scenario
    checked: Mapping[str, Calibration]
    floors: tuple[Floor, ...]
    lost: tuple[str, ...]
    done: Conducted

    @property
    def failed(self) -> tuple[Floor, ...]:
        """The primary metrics whose A/A failed."""
        return tuple(floor for floor in self.floors if floor.primary and not floor.passed)


def against_itself(scenario: Scenario, blocks: int, second: PythonBuild | None = None) -> Scenario:
    """The A/A of a scenario: its baseline under two names. Raises `BadInput` for a scenario without timed metrics.

    `second` is the interpreter of the arm `again`, if it is a second install of the same release (`runners.second_install`).
    """
    if kind_of(scenario.workload).of_answers:
        raise BadInput(f"{scenario.source}: a scenario about answers has its own A/A: the baseline runs twice in every run")
    if not any(is_timed(choice.name) for choice in scenario.metrics):
        raise BadInput(f"{scenario.source}: metrics: none of them is timed; exact counts need no noise floor")
    scenario = scenario.with_files_of(scenario.baseline)
    other = {"kind": "python", "path": second.path} if second else None
    made = scenario_of(aa_check.itself(scenario.definition, blocks, other), source=scenario.source, workload=scenario.workload)
    builds = {**scenario.builds, **({aa_check.SECOND: second} if second else {})}
    return dataclasses.replace(made, builds=builds)  # a definition alone does not say where a build's files are


def as_measured(scenario: Scenario, results: Path, say: Say) -> Scenario:
    """The scenario with the baseline that its records in this folder ran on, such as the base of a change that `pr` measured: an A/A
    vouches for no other. Itself where there are none, or they ran on its own; where that can't be made again, a line says so."""
    before = _measured(scenario, results)
    if before is None or workload_digests(before.definition) & workload_digests(scenario.definition):
        return scenario
    own = _taking_turns(scenario.with_files_of(scenario.baseline), before)
    arm, build = before.definition["arms"][before.baseline.name], before.baseline.build
    builds = {**own.definition["builds"], build: before.definition["builds"][build]}
    arms = {name: {**arm, "baseline": name == aa_check.ARMS[0]} for name in aa_check.ARMS}
    definition = {**own.definition, "builds": builds, "arms": arms}
    try:
        made = scenario_of(definition, source=scenario.source, folder=Path(scenario.source).parent, workload=own.workload)
    except BadInput:  # files that only a record names
        made = scenario
    if not workload_digests(before.definition) & workload_digests(made.definition):
        say(f"{scenario.name}: its records in {results} ran on another baseline or workload: this A/A does not vouch for them")
        return scenario
    say(f"{scenario.name}: on the baseline of its records in {results}: {made.builds[build].label}")
    return dataclasses.replace(made, device=scenario.device)


def _measured(scenario: Scenario, results: Path) -> Scenario | None:
    """The scenario as its last record in a results folder has it; None where there is none, or one that is not understood."""
    if not store.records_file(results, scenario.name).is_file():
        return None
    before = [record.definition for record in store.records_in(results) if record.scenario == scenario.name]
    try:
        return scenario_of(before[-1], source=scenario.source) if before else None
    except BadInput:
        return None


def _taking_turns(scenario: Scenario, before: Scenario) -> Scenario:
    """The scenario with arms that take turns, where they did so before."""
    turns = scenario.workload.turn_taking_changes
    definition = {**scenario.definition, "workload": {**scenario.definition["workload"], **turns}}
    if not turns or definition["workload"] != before.definition["workload"]:
        return scenario
    return dataclasses.replace(scenario, workload=dataclasses.replace(scenario.workload, **turns), definition=definition)


def calibrate(
    scenario: Scenario,
    results: Path,
    open_runners: OpenRunners,
    progress: Callable[[int], RunProgress],
    *,
    seed: int,
    now: Callable[[], str],
    start: Start | None = None,
    budget: float | None = None,
) -> Calibrated:
    """Runs an A/A (made by `against_itself`) to its end and stores its noise floors in the results folder.

    `open_runners` opens the runners of a plan, `progress` makes a display for a number of trials, `now` gives the time in words, `start`
    says how a run starts (None: at once), `budget` is minutes. Raises the same errors as `conduct`, and `CannotRun` where the A/A has too
    little to measure a spread or the budget ends it before its last block: then no floor is stored.
    """
    store.check_folder(results)
    plan = make_plan([scenario], seed)
    folder = _folder(results, scenario, seed)
    with progress(sum(len(block.order) for block in plan.blocks)) as shown:
        alone, settle = (start.alone, start.settle) if start else (at_once, at_once)
        runners = partial(open_runners, plan, folder, shown.say)
        done = conduct(plan, folder, runners, shown, alone=alone, settle=settle, budget=budget)
    records = [record for record in store.read(folder).records if record.scenario == scenario.name]
    if unfinished := [warning for warning in done.warnings if SPENT in warning]:
        raise CannotRun("; ".join(unfinished))
    checked = aa_check.check(scenario, records)
    floors = aa_check.floors_of(scenario, records, checked, when=now(), folder=str(folder.relative_to(results)))
    for floor in floors:
        store.append_floor(results, floor)
    lost = tuple(invalidation.lost(aa_check.shares(records)))
    return Calibrated(scenario=scenario, checked=checked, floors=tuple(floors), lost=lost, done=done)


def _folder(results: Path, scenario: Scenario, seed: int) -> Path:
    """The folder for this A/A's records: that of an interrupted one, else a new one."""
    finished = {floor.records for floor in store.read_floors(results)}
    number = 1
    while True:
        folder = results / "calibration" / f"{scenario.name}-{number:03d}"
        if str(folder.relative_to(results)) not in finished and _fits(folder, scenario, seed):
            return folder
        number += 1


def _fits(folder: Path, scenario: Scenario, seed: int) -> bool:
    """Whether the records in a folder, if any, are of exactly this A/A and this machine."""
    records = store.records_in(folder)
    return all(record.digest == scenario.digest and record.seed == seed for record in records) and not here(records)[1]
