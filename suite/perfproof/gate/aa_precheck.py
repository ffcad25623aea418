"""The base against itself before a gate's times are judged: once a day on each machine, for each workload whose times decide.

What it says of the machine lies in one folder for all changes, which several machines may share, and goes with each change's records,
where the verdicts look for it: a machine on which the base differs from itself makes every time untestable, and the change is not blamed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from perfproof import store
from perfproof.commands import calibrate
from perfproof.commands.calibrate import OpenRunners
from perfproof.model.base import clock
from perfproof.model.scenarios.scenario import LEAST_BLOCKS, Scenario
from perfproof.model.verdicts.noise_floor import Floor, machine_fingerprint, workload_digest
from perfproof.model.verdicts.policy import Policy
from perfproof.progress import RunProgress
from perfproof.run.host import environment
from perfproof.run.host.preflight import Start

HOURS = 24
"""Hours for which a base that did not differ from itself vouches for the machine."""


def vouch(
    scenarios: Sequence[Scenario],
    policy: Policy,
    *,
    shared: Path,
    results: Path,
    open_runners: OpenRunners,
    console: Console,
    seed: int,
    start: Start | None,
) -> None:
    """Runs what is missing into the folder `shared` and adds the noise floors to `results`. Raises as `calibrate` does."""
    here = machine_fingerprint(environment.machine())
    for scenario in scenarios:
        if not any(policy.asks(scenario.name, choice.name, primary=True).family == "times" for choice in scenario.primaries):
            continue
        if not _vouched_for([floor for floor in _known(shared, scenario) if floor.machine == here]):
            console.print(f"{scenario.name}: the base against itself first", highlight=False, markup=False)
            itself = calibrate.against_itself(scenario, LEAST_BLOCKS)
            progress: Callable[[int], RunProgress] = partial(RunProgress, console)
            calibrate.calibrate(itself, shared, open_runners, progress, seed=seed, now=clock.now, start=start)
        there = {(floor.when, floor.metric, floor.workload) for floor in store.read_floors(results)}
        for floor in _known(shared, scenario):
            if (floor.when, floor.metric, floor.workload) not in there:
                store.append_floor(results, floor)


def _known(shared: Path, scenario: Scenario) -> list[Floor]:
    """What was found of this workload, oldest first."""
    digest = workload_digest(scenario.definition)
    return [floor for floor in store.read_floors(shared) if floor.workload == digest]


def _vouched_for(floors: Sequence[Floor]) -> bool:
    """Whether the last run against itself passed, and is not old; after one that failed the next gate tries again.

    One of tomorrow, made while a clock was wrong, vouches no longer than one of yesterday.
    """
    last = [floor for floor in floors if floor.when == floors[-1].when]
    return bool(last) and abs(clock.hours_since(last[0].when)) < HOURS and all(floor.passed for floor in last if floor.primary)
