"""Google Benchmark's JSON (`--benchmark_out`): a file is one process, and so one trial of each of its benchmarks.

Repetitions lie within that process: their median is taken, or the one that the file has. Counters are shown; those without a known
direction are not judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from perfproof.importers.result_files.fields import Fields, refuse, with_values
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.base import timestamps
from perfproof.model.base.untrusted import line
from perfproof.model.records.result_runs import ResultRun, Word
from perfproof.model.scenarios.metrics import Better

TIMES = ("real_time", "cpu_time")
RATES = {"items_per_second": "items/s", "bytes_per_second": "B/s"}
UNITS = ("ns", "us", "ms", "s")
KNOWN = {
    *("name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads"),
    *("iterations", "time_unit", "aggregate_name", "aggregate_unit", "error_occurred", "error_message", "skipped", "skip_message", "label"),
    *("big_o", "rms", "cpu_coefficient", "real_coefficient", *TIMES),
}
"""Members that are no counters."""
SETTING = {"host_name": "machine", "num_cpus": "processors", "library_version": "Google Benchmark", "executable": "executable"}
FAILED = {"error_occurred": "error_message", "skipped": "skip_message"}


def recognises(source: Source) -> bool:
    """Whether it is one object whose context names an executable, with benchmarks."""
    found = source.objects
    if len(found) != 1 or not {"context", "benchmarks"} <= found[0][1].keys():
        return False
    context = found[0][1]["context"]
    return isinstance(context, dict) and bool({"executable", "library_build_type", "mhz_per_cpu"} & context.keys())


def runs(source: Source) -> list[ResultRun]:
    """A run a benchmark; raises `BadInput` with every fault."""
    where, members = source.objects[0]
    context = Fields(where=where, members=members["context"])
    if not isinstance(members["benchmarks"], list):
        refuse([f"{where}: benchmarks: expected a list"])
    faults: list[str] = []
    of_name: dict[str, list[Mapping[str, Any]]] = {}
    for number, each in enumerate(members["benchmarks"], 1):
        name = each.get("run_name") or each.get("name") if isinstance(each, dict) else None
        if not isinstance(name, str) or not name:
            faults.append(f"{where}: benchmarks, entry {number}: has no name")
        else:
            of_name.setdefault(line(name, 200), []).append(each)
    found = [_run(where, name, own, context, faults) for name, own in of_name.items()]
    refuse(faults)
    found = with_values(found, where)
    return [replace(found[0], doubts=tuple(_doubts(context.members))), *found[1:]]


def _run(where: str, name: str, entries: Sequence[Mapping[str, Any]], context: Fields, faults: list[str]) -> ResultRun:
    whole = Fields(where=f"{where}: {name}", members={})
    fine = [each for each in entries if not any(each.get(key) for key in FAILED)]
    rounds, statistic = _repetitions(fine)
    for key in dict.fromkeys(key for each in rounds for key in each if key not in KNOWN or key in TIMES):
        _take(whole, key, rounds, statistic)
    why = [each.get(FAILED[key]) or key for each in entries for key in FAILED if each.get(key)]
    faults += whole.faults
    return ResultRun(
        source=whole.where,
        values=tuple(whole.values),
        benchmark=name,
        setting=_setting(context),
        at=timestamps.moment(context.members.get("date")),
        inside=f"{len(rounds)} repetitions" if len(rounds) > 1 else "repetitions" if statistic == "median" else "iterations",
        left_out=tuple(dict.fromkeys([*whole.left_out, *(f"failed: {line(each, 100)}" for each in why)])),
    )


def _repetitions(entries: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], str]:
    """What the benchmark's values are the medians of: its repetitions; where the file has statistics alone, the median, else the mean."""
    measured = [each for each in entries if each.get("run_type", "iteration") == "iteration"]
    if measured:
        return measured, "median" if len(measured) > 1 else ""
    for statistic in ("median", "mean"):
        if found := [each for each in entries if each.get("aggregate_name") == statistic]:
            return found[:1], statistic
    return [], ""


def _take(whole: Fields, key: str, rounds: Sequence[Mapping[str, Any]], statistic: str) -> None:
    """The median of a member over repetitions. Counters that are no numbers are passed over."""
    unit = rounds[0].get("time_unit", "ns") if key in TIMES else RATES.get(key, "")
    if key in TIMES and (unit not in UNITS or any(each.get("time_unit", "ns") != unit for each in rounds)):
        whole.faults.append(f"{whole.where}: time_unit: expected one of {', '.join(UNITS)} for all repetitions, got {line(unit, 40)}")
        return
    if key not in TIMES and any(type(each.get(key)) not in (int, float) for each in rounds):
        return
    values = Fields(where=whole.where, members={key: [each.get(key) for each in rounds]})
    found = values.numbers(key)
    if found:
        better: Better | None = "lower" if key in TIMES else "higher" if key in RATES else None
        values.take(key, key, unit, value=median(found), statistic=statistic, headline=key == "real_time", better=better)
    whole.join(values)


def _setting(context: Fields) -> dict[str, Word]:
    return context.words(SETTING)


def _doubts(context: Mapping[str, Any]) -> list[str]:
    slow = context.get("library_build_type") == "debug", context.get("cpu_scaling_enabled") is True
    words = "the benchmark library was built for debugging, which slows what it times", "the processor's frequency was scaled meanwhile"
    return [word for word, there in zip(words, slow, strict=True) if there]


GOOGLE_BENCHMARK = Format(name="Google Benchmark", trial="one file, for it is one process", recognises=recognises, runs=runs)
