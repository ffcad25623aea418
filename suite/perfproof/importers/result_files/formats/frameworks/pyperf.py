"""pyperf's JSON: its processes are the trials, each with a few values of its own. Processes that only calibrated are passed over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

from perfproof.importers.result_files.fields import Fields, refuse, with_values
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.base.untrusted import line
from perfproof.model.records.result_runs import ResultRun

UNITS = {"second": ("time", "s"), "byte": ("memory", "B"), "integer": ("count", "")}
"""What is measured, and its unit, by pyperf's word for it."""
SETTING = {
    "hostname": "machine",
    "cpu_model_name": "cpu",
    "python_version": "Python",
    "python_implementation": "Python implementation",
    "platform": "platform",
    "perf_version": "pyperf",
    "commit_id": "commit",
    "command": "command",
}


def recognises(source: Source) -> bool:
    """Whether it is one object whose benchmarks are lists of runs."""
    found = source.objects
    if len(found) != 1 or not {"version", "benchmarks"} <= found[0][1].keys():
        return False
    benchmarks = found[0][1]["benchmarks"]
    return isinstance(benchmarks, list) and bool(benchmarks) and all(isinstance(each, dict) and "runs" in each for each in benchmarks)


def runs(source: Source) -> list[ResultRun]:
    """A run a process; raises `BadInput` with every fault."""
    where, members = source.objects[0]
    faults: list[str] = []
    common = _metadata(where, members, faults)
    found = [
        run
        for number, each in enumerate(members["benchmarks"], 1)
        for run in _benchmark(f"{where}: benchmark {number}", each, common, faults)
    ]
    refuse(faults)
    return with_values(found, where)


def _metadata(where: str, members: Mapping[str, Any], faults: list[str]) -> Mapping[str, Any]:
    whole = Fields(where=where, members=members)
    found = whole.part("metadata")
    faults += whole.faults
    return found


def _benchmark(where: str, members: Mapping[str, Any], common: Mapping[str, Any], faults: list[str]) -> Iterator[ResultRun]:
    own = {**common, **_metadata(where, members, faults)}
    if not isinstance(members["runs"], list):
        faults.append(f"{where}: runs: expected a list")
        return
    for number, each in enumerate(members["runs"], 1):
        place = f"{where}, process {number}"
        if not isinstance(each, dict):
            faults.append(f"{place}: expected an object")
        elif each.get("values"):
            yield _process(place, each, {**own, **_metadata(place, each, faults)}, faults)


def _process(where: str, members: Mapping[str, Any], metadata: Mapping[str, Any], faults: list[str]) -> ResultRun:
    fields, said = Fields(where=where, members=members), Fields(where=where, members=metadata)
    values = fields.numbers("values")
    unit = metadata.get("unit", "second")
    metric, base = UNITS.get(unit, ("", "")) if isinstance(unit, str) else ("", "")
    if not metric:
        faults.append(f"{where}: unit: {line(unit, 40)} is none of {', '.join(UNITS)}")
    if values and metric:
        fields.take("the mean of its values", metric, base, value=fmean(values), headline=True, better="lower")
    faults += fields.faults
    loops = metadata.get("loops")
    return ResultRun(
        source=where,
        values=tuple(fields.values),
        benchmark=line(metadata.get("name") or "", 200),
        setting=said.words(SETTING),
        at=_moment(metadata.get("date")),
        inside=f"{len(values)} values" + (f" of {loops} loops" if type(loops) is int and loops > 1 else ""),
        left_out=tuple(fields.left_out),
    )


def _moment(raw: Any) -> float | None:
    """2026-01-31 12:00:00.123456, which pyperf writes by the machine's own clock; None for what is no date."""
    try:
        found = datetime.fromisoformat(raw) if isinstance(raw, str) else None
    except ValueError:
        return None
    return None if found is None else (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


PYPERF = Format(name="pyperf", trial="one of its processes", recognises=recognises, runs=runs)
