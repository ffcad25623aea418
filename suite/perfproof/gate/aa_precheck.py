"""The base against itself before a gate judges times: once a day on each machine, for each workload whose times decide.

The results lie in one folder for all changes, which several machines may share, and are copied to each change's records for its verdicts.
Where the base differs from itself, every time on that machine is untestable, and the change is not blamed.
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
from perfproof.model.verdicts.noise_floor import Floor, machine_fingerprint, workload_digests
from perfproof.model.verdicts.policy import Policy
from perfproof.progress import RunProgress
from perfproof.run.checks.gpu_choice import choose_gpus
from perfproof.run.host import environment
from perfproof.run.host.preflight import Start

HOURS = 24
"""Hours for which a passed A/A counts for its machine."""


def precheck(
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
    """Runs the missing A/As in the folder `shared` and adds their noise floors to `results`. Raises the same errors as `calibrate`."""
    choose_gpus(scenarios, partial(console.print, highlight=False, markup=False))
    here = machine_fingerprint(environment.machine())
    for scenario in scenarios:
        if not any(policy.asks(scenario.name, choice.name, primary=True).family == "times" for choice in scenario.primaries):
            continue
        if not _still_valid([floor for floor in _known(shared, scenario) if floor.machine == here]):
            console.print(f"{scenario.name}: the base against itself first", highlight=False, markup=False)
            itself = calibrate.against_itself(scenario, LEAST_BLOCKS)
            progress: Callable[[int], RunProgress] = partial(RunProgress, console)
            calibrate.calibrate(itself, shared, open_runners, progress, seed=seed, now=clock.now, start=start)
        there = {(floor.when, floor.metric, floor.workload) for floor in store.read_floors(results)}
        for floor in _known(shared, scenario):
            if (floor.when, floor.metric, floor.workload) not in there:
                store.append_floor(results, floor)


def _known(shared: Path, scenario: Scenario) -> list[Floor]:
    """The noise floors of this workload, oldest first."""
    digests = workload_digests(scenario.definition)
    return [floor for floor in store.read_floors(shared) if floor.workload in digests]


def _still_valid(floors: Sequence[Floor]) -> bool:
    """Whether the last A/A passed and is recent. After a failed one, the next gate tries again.

    An A/A from the future, made while a clock was wrong, is valid for no longer than one from the past.
    """
    last = [floor for floor in floors if floor.when == floors[-1].when]
    return bool(last) and abs(clock.hours_since(last[0].when)) < HOURS and all(floor.passed for floor in last if floor.primary)
