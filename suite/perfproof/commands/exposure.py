"""What a step's host time is worth on a server: `perfproof exposure`.

The scenario's baseline is measured with several known delays in every step of the engine, on one server, block by block in random order.
The records lie in the results folder like those of any scenario, an interrupted run continues, and the answer comes from the records.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from perfproof import store
from perfproof.analysis.judging import exposure
from perfproof.commands import record_verdicts
from perfproof.executor import conduct
from perfproof.model.base.errors import EXIT_PASS, EXIT_UNTESTABLE, BadInput
from perfproof.model.documents.decode import scenario_of
from perfproof.model.scenarios.scenario import Scenario
from perfproof.patches.planted.step_delay import MOST
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from perfproof.run.checks.resume import here
from perfproof.run.host.preflight import Start


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExposureRequest:
    """What to measure: the scenario, the delays in microseconds (the first is the baseline's), and the number of blocks."""

    scenario: Scenario
    delays: Sequence[int]
    blocks: int
    seed: int
    results: Path


def with_delays(scenario: Scenario, delays: Sequence[int], blocks: int) -> Scenario:
    """The scenario whose arms are the baseline of `scenario` with each delay. Raises `BadInput` for one without a server under load."""
    workload = scenario.workload.on_shared_servers()
    if workload is None:
        raise BadInput(f"{scenario.source}: workload.kind: exposure needs a server under load, and {scenario.workload.kind!r} has none")
    if len(delays) < 3 or sorted(set(delays)) != list(delays) or delays[0] != 0 or delays[-1] > MOST:
        expected = f"expected 0 first and two or more others up to {MOST:,}, each larger than the one before"
        raise BadInput(f"--delays {' '.join(map(str, delays))}: {expected}")
    made = scenario_of(exposure.delayed(scenario.definition, delays, blocks), source=scenario.source, workload=workload)
    return dataclasses.replace(made, builds=scenario.builds)  # a definition alone does not say where a build's files are


def run(request: ExposureRequest, start: Start, *, builds: Path, as_json: bool, console: Console | None = None) -> int:
    """Measures what is missing, prints the verdicts on the delays and what host time is worth; untestable where too little was measured."""
    console = console or Console(stderr=as_json)
    scenario = with_delays(request.scenario, request.delays, request.blocks)
    plan = make_plan([scenario], request.seed)
    from perfproof.run.checks.gpu_choice import choose_gpus
    from perfproof.runners import check_names, opened

    check_names(plan)
    choose_gpus(plan.scenarios, partial(console.print, highlight=False, markup=False))
    with RunProgress(console, sum(len(block.order) for block in plan.blocks)) as progress:
        runners = partial(opened, plan, builds, request.results, progress.say)
        done = conduct(plan, request.results, runners, progress, alone=start.alone, settle=start.settle)
    for warning in done.warnings:
        console.print(warning, style="yellow", highlight=False, markup=False)
    if not as_json:
        record_verdicts.show(request.results, console, None, only={scenario.name})
    records, _ = here([record for record in store.read(request.results).records if record.scenario == scenario.name])
    found = exposure.exposure_of(records)
    if found is None:
        console.print(f"{scenario.name}: fewer than two whole blocks, so no exposure", highlight=False, markup=False)
        return EXIT_UNTESTABLE
    if as_json:
        print(json.dumps({"schema": 1, **dataclasses.asdict(found), "sentences": exposure.sentences(found)}, indent=1))
        return EXIT_PASS
    for delay, cost in zip(found.delays, found.costs, strict=False):
        console.print(f"  {delay:7.1f} us a step: {cost:+8.1f} us TPOT", highlight=False, markup=False)
    for sentence in exposure.sentences(found):
        console.print(sentence, highlight=False, markup=False, style="bold")
    return EXIT_PASS
