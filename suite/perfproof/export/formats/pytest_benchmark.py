"""pytest-benchmark's JSON of trials that time rounds: a file a trial, for each of them was a process of its own.

`pytest-benchmark compare` and `perfproof judge` take the files; rounds of one file are the trial's own, and no repeats of it.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from perfproof.export.format import Exported, Files, Format
from perfproof.export.trials import build_of, file_name
from perfproof.model.base.errors import BadInput
from perfproof.model.base.json_numbers import plain_json
from perfproof.model.base.untrusted import line
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import OF_ROUNDS, base_name

VERSION = "5.0.0"
"""The release of pytest-benchmark whose form this is."""


def files(exported: Exported) -> Files:
    found: dict[str, str] = {}
    for trial in exported.trials:
        benchmarks = [_benchmark(trial, name, values) for name, values in trial.raw.items() if base_name(name) in OF_ROUNDS and values]
        if benchmarks:
            name = f"{file_name(trial.scenario)}/{file_name(trial.arm)}/block_{trial.block:03}.json"
            if name in found:
                raise BadInput(f"{exported.results}: two trials would be written to {name}: export one scenario at a time (--scenario)")
            found[name] = plain_json({**_head(trial), "benchmarks": benchmarks}) + "\n"
    if not found:
        raise BadInput(f"{exported.results}: no trial keeps the times of its rounds: only microbenchmarks and pytest benchmarks do")
    return found


def _head(trial: Record) -> dict[str, Any]:
    told = trial.environment
    python = trial.attestation.python if trial.attestation else ""
    machine = {
        "node": "",
        "processor": line(told.get("processor") or "", 100),
        "machine": line(told.get("machine") or "", 100),
        "python_implementation": "CPython",
        "python_implementation_version": python,
        "python_version": python,
        "release": line(told.get("kernel") or "", 100),
        "system": line(told.get("system") or "", 100),
        "cpu": {"brand_raw": line(told.get("processor") or "", 100), "count": told.get("cores") or 0},
    }
    commit = {"id": line(told.get("commit") or "unversioned", 80), "time": None, "author_time": None, "dirty": False}
    return {
        "machine_info": machine,
        "commit_info": {**commit, "project": "vllm", "branch": "(unknown)"},
        "datetime": trial.started,
        "version": VERSION,
    }


def _benchmark(trial: Record, name: str, rounds: Sequence[float]) -> dict[str, Any]:
    case = name.partition("@")[2]
    own = line(f"{trial.scenario}.{name}", 300)
    return {
        "group": None,
        "name": own,
        "fullname": own,
        "params": dict(part.partition("=")[::2] for part in case.split(",")) if case else None,
        "param": case or None,
        "extra_info": {"arm": line(trial.arm, 200), "block": trial.block, "build": build_of(trial)},
        "options": {"disable_gc": False, "timer": "perf_counter", "min_rounds": len(rounds), "warmup": False},
        "stats": statistics_of(list(rounds)),
    }


def statistics_of(rounds: list[float]) -> dict[str, Any]:
    """What pytest-benchmark says of rounds (one or more, in seconds), by its own definitions."""
    ordered, mean, count = sorted(rounds), statistics.fmean(rounds), len(rounds)
    spread = statistics.stdev(rounds) if count > 1 else 0.0
    q1, q3 = _quartiles(ordered)
    low, high = q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)
    beyond = sum(value < low or value > high for value in ordered)
    far = sum(value < mean - spread or value > mean + spread for value in ordered)
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "mean": mean,
        "stddev": spread,
        "rounds": count,
        "median": statistics.median(ordered),
        "iqr": q3 - q1,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": beyond,
        "stddev_outliers": far,
        "outliers": f"{far};{beyond}",
        "ld15iqr": ordered[min(bisect_left(ordered, low), count - 1)],
        "hd15iqr": ordered[max(bisect_right(ordered, high) - 1, 0)],
        "ops": 1 / mean if mean else 0.0,
        "total": math.fsum(rounds),
        "data": rounds,
        "iterations": 1,
    }


def _quartiles(ordered: Sequence[float]) -> tuple[float, float]:
    """The medians of the lower and of the upper half; of an odd number, half way between those with and without the middle."""
    count = len(ordered)
    if count == 1:
        return ordered[0], ordered[0]
    if count % 2 == 0:
        return statistics.median(ordered[: count // 2]), statistics.median(ordered[count // 2 :])
    low, high = count // 2, count // 2 + 1
    lower = (statistics.median(ordered[:low]) + statistics.median(ordered[:high])) / 2
    upper = (statistics.median(ordered[high:]) + statistics.median(ordered[low:])) / 2
    return lower, upper


PYTEST_BENCHMARK = Format(name="pytest-benchmark", files=files)
