"""Runs on this machine: the batches of injected slowdowns and the sittings of the other tools, continued where they were left.

Every batch is carried out like a plan of `perfproof run`, in its own folder under `work`; each of its runs leaves its line under `results`
as soon as it ends. A time limit ends the measuring between two blocks.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from perfproof import store
from perfproof.analysis.judging.judge import judge_scenario, spending_of
from perfproof.analysis.trials.paired_trials import latest, whole_blocks
from perfproof.executor import conduct
from perfproof.model.base.errors import CannotRun
from perfproof.model.kinds import kind_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import LEAST_BLOCKS, Arm, Scenario
from perfproof.model.verdicts.noise_floor import machine_fingerprint
from perfproof.patches.planted.known_slowdown import ADDED, MEASURED
from perfproof.planning import make_plan
from perfproof.progress import RunProgress
from perfproof.run.host import environment
from perfproof.run.host.machine_lock import WAIT
from perfproof.run.host.preflight import Start, settle
from perfproof.run.trials.runner import Runner
from perfproof.runners import opened
from perfproof.validation.real import injected
from perfproof.validation.real.outcomes import ROUND_UNITS, Run, Sitting, Trial, append, read

OF = {"micro": "the wrapped calls", "serve": "the client's whole run"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The folders: lines in `results`, records and logs in `work`, builds in `builds`; and the build that is measured."""

    results: Path
    work: Path
    builds: Path
    build: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """The time limit: `clock` gives seconds; after `end`, no block or sitting starts."""

    end: float
    clock: Callable[[], float] = time.monotonic

    @property
    def minutes(self) -> float:
        """Minutes left; 0 and less when it is over."""
        return (self.end - self.clock()) / 60


def batch(number: int, place: Place, until: Until, progress: RunProgress) -> None:
    """Runs the missing runs of a batch of the microbenchmark."""
    scenarios = [scenario for scenario in injected.batch(number, place.build) if not _there(scenario, place)]
    _conduct(injected.batch(number, place.build), scenarios, f"micro-{number:02d}", number, place, until, progress)


def serve(number: int, place: Place, until: Until, progress: RunProgress) -> None:
    """Runs the missing trials of a run of the toy server."""
    scenario = injected.serve(number, place.build)
    _conduct([scenario], [] if _there(scenario, place) else [scenario], f"serve-{number:02d}", number, place, until, progress)


def _conduct(
    every: list[Scenario], missing: list[Scenario], name: str, seed: int, place: Place, until: Until, progress: RunProgress
) -> None:
    """Conducts a plan whose order is that of `every`, and keeps the lines of those in `missing` that end."""
    if not missing or until.minutes <= 0:
        return
    folder, whole = place.work / name, make_plan(every, seed)
    wanted = {scenario.name for scenario in missing}
    plan = Plan(
        scenarios=tuple(s for s in whole.scenarios if s.name in wanted),
        blocks=tuple(b for b in whole.blocks if b.scenario.name in wanted),
        seed=seed,
    )
    runners = partial(opened, plan, place.builds, folder, progress.say)
    start = Start(what="make validate-real", profile="quick", wait=WAIT, anyway=False)
    conduct(plan, folder, runners, progress, alone=start.alone, settle=start.settle, budget=until.minutes)
    records = store.read(folder).records
    for scenario in plan.scenarios:
        for run in runs_of(scenario, [record for record in records if record.scenario == scenario.name]):
            append(place.results / f"{run.workload}.jsonl", run)


def _there(scenario: Scenario, place: Place) -> bool:
    """Whether a scenario's runs have left their lines."""
    runs, _ = read(place.results)
    there = {(run.workload, run.percent, run.number) for run in runs}
    return all((scenario.workload.kind, injected.percent_of(arm), _number(scenario)) in there for arm in scenario.candidates)


def _number(scenario: Scenario) -> int:
    return int(scenario.name.rpartition("_")[2])


def close(place: Place) -> None:
    """Keeps the unfinished runs of the microbenchmark that have enough blocks for a verdict, because the time is over."""
    for number in range(1, len(injected.BATCHES) + 1):
        folder = place.work / f"micro-{number:02d}"
        records = store.records_in(folder)
        for scenario in injected.batch(number, place.build):
            own = [record for record in records if record.scenario == scenario.name]
            if not _there(scenario, place) and whole_blocks(latest(own), scenario) >= LEAST_BLOCKS:
                for run in runs_of(scenario, own, cut=True):
                    append(place.results / f"{run.workload}.jsonl", run)


def runs_of(scenario: Scenario, records: list[Record], *, cut: bool = False) -> list[Run]:
    """The lines of a finished scenario, one per candidate; none while blocks are missing, unless it is `cut` short."""
    if not records:
        return []
    found = judge_scenario(scenario.name, records, final=False)
    if not cut and not found.stop and found.blocks < scenario.most_blocks:
        return []
    judged = {row.candidate: row for row in judge_scenario(scenario.name, records).judged if row.primary}
    spending, last = spending_of(scenario), latest(records)[-1]
    assert last.attestation is not None or last.status != "ok"  # noqa: S101
    lines = []
    for arm in scenario.candidates:
        row = judged[arm.name]
        lines.append(
            Run(
                workload=scenario.workload.kind,
                percent=injected.percent_of(arm),
                number=_number(scenario),
                machine=machine_fingerprint(last.environment),
                when=last.started,
                vllm=last.attestation.vllm_version if last.attestation else "",
                metric=row.metric,
                margin=injected.MARGIN,
                looks=tuple(look.blocks for look in spending.looks),
                family=spending.family,
                verdict=str(row.verdict),
                effect=row.effect,
                mde=row.mde,
                blocks=row.blocks,
                cut=cut,
                of=OF[scenario.workload.kind],
                trials=tuple(_trial(scenario, arm, record, row.metric) for record in records if record.arm in (row.baseline, arm.name)),
            )
        )
    return lines


def _trial(scenario: Scenario, arm: Arm, record: Record, metric: str) -> Trial:
    telemetry, serving = record.environment.get("telemetry", {}), kind_of(scenario.workload).scope == "end to end"
    return Trial(
        block=record.block,
        position=record.position,
        arm="b" if record.arm == arm.name else "a",
        status=record.status,
        value=_digits(record.measurements.get(metric)),
        added=round(_added(record, serving), 5),
        steal=telemetry.get("steal"),
        foreign=telemetry.get("foreign"),
        seconds=round(record.seconds.get("total", 0.0) - record.seconds.get("import", 0.0), 3),
        rounds=() if serving else tuple(round(ROUND_UNITS * seconds) for seconds in record.raw.get(metric, ())),
    )


def _added(record: Record, serving: bool) -> float:
    """The share that the busy wait added, by its own counters: of the calls that it followed, or of the rest of a client's run."""
    counts = record.attestation.counts if record.attestation else {}
    added, calls = counts.get(ADDED, 0), counts.get(MEASURED, 0)
    if not serving:
        return added / calls if calls else 0.0
    whole = 1e9 * (record.seconds.get("warming up", 0.0) + record.seconds.get("measuring", 0.0))
    return added / (whole - added) if whole > added else 0.0


def sitting(number: int, trials: Mapping[int, int], place: Place, until: Until, progress: RunProgress) -> None:
    """Runs the missing sittings of a batch: for each, `trials` of the baseline, then as many of the candidate, without a pause.

    `trials` maps a slowdown to the average number in perfproof's own runs of it, so that both get the same wall time.
    """
    _, there = read(place.results)
    done = {(one.percent, one.number) for one in there}
    missing = [each for each in injected.sittings(number) if each[0] in trials and each not in done]
    if not missing or until.minutes <= 0:
        return
    plan = make_plan([injected.micro(percent, run, place.build) for percent, run in missing], number)
    folder = place.work / f"sittings-{number:02d}"
    with opened(plan, place.builds, folder, progress.say) as runner_for:
        settle("quick", progress.say)
        for scenario in plan.scenarios:
            if until.minutes <= 0:
                return
            percent = injected.percent_of(scenario.candidates[0])
            progress.say(f"other tools: {scenario.name}, {trials[percent]} trials of each")
            append(place.results / "sittings.jsonl", _sit(scenario, runner_for(scenario), trials[percent]))


def _sit(scenario: Scenario, runner: Runner, trials: int) -> Sitting:
    """All trials of the baseline, then all of the candidate, forked from one parent."""
    sides: dict[str, tuple[tuple[float, ...], ...]] = {}
    seconds = 0.0
    last: Record | None = None
    for arm in (injected.BASELINE, injected.CANDIDATE):
        records = list(_in_a_row(scenario, runner, arm, trials))
        fault = next((record.reason for record in records if record.status != "ok"), "")
        if fault:
            raise CannotRun(f"{scenario.name}: a trial of {arm} did not end well: {fault}")
        sides[arm] = tuple(tuple(round(one, 9) for one in record.raw[injected.MICRO_METRIC]) for record in records)
        seconds += sum(record.seconds["total"] - record.seconds["import"] for record in records)
        last = records[-1]
    assert last is not None  # noqa: S101
    return Sitting(
        percent=injected.percent_of(scenario.candidates[0]),
        number=_number(scenario),
        machine=machine_fingerprint(environment.machine()),
        when=last.started,
        seconds=round(seconds, 2),
        baseline=sides[injected.BASELINE],
        candidate=sides[injected.CANDIDATE],
    )


def _in_a_row(scenario: Scenario, runner: Runner, arm: str, trials: int) -> Iterator[Record]:
    block = Block(scenario=scenario, number=1, order=(injected.BASELINE, injected.CANDIDATE), seed=0)
    for trial in range(trials):
        yield from runner.trials(dataclasses.replace(block, seed=trial), (arm,))


def _digits(value: float | None) -> float | None:
    """Nine digits: far below what a trial repeats."""
    return None if value is None else float(f"{value:.9g}")
