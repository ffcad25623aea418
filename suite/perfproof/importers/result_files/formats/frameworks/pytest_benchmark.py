"""pytest-benchmark's JSON (`--benchmark-json`, `--benchmark-save`): a file is one process, and so one trial of each of its benchmarks.

Its rounds share whatever made that process fast or slow. The median of a benchmark's rounds is judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from perfproof.importers.result_files.fields import Fields, refuse, with_values
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.base import timestamps
from perfproof.model.base.untrusted import line
from perfproof.model.records.result_runs import ResultRun, Word

STATISTICS = {"median": "median", "mean": "mean", "min": "min", "max": "max", "stddev": "std"}
MACHINE = {"node": "machine", "python_version": "Python", "python_implementation": "Python implementation", "release": "kernel"}


def recognises(source: Source) -> bool:
    """Whether it is one object with the machine, the commit and benchmarks."""
    found = source.objects
    return len(found) == 1 and {"machine_info", "commit_info", "benchmarks"} <= found[0][1].keys()


def runs(source: Source) -> list[ResultRun]:
    """A run a benchmark; raises `BadInput` with every fault, a benchmark that is there twice among them."""
    where, members = source.objects[0]
    whole = Fields(where=where, members=members)
    setting, at = _setting(whole), timestamps.moment(members.get("datetime"))
    faults = whole.faults
    entries = members["benchmarks"] if isinstance(members["benchmarks"], list) else []
    if not isinstance(members["benchmarks"], list):
        faults.append(f"{where}: benchmarks: expected a list")
    found = [_run(where, number, each, setting, at, faults) for number, each in enumerate(entries, 1)]
    twice = [name for name, count in Counter(run.benchmark for run in found if run).items() if count > 1]
    faults += [f"{where}: {line(name, 100)} is there twice; a file is one process, and has each benchmark once" for name in twice]
    refuse(faults)
    return with_values([run for run in found if run], where)


def _setting(whole: Fields) -> dict[str, Word]:
    machine = Fields(where=whole.where, members=whole.part("machine_info"))
    commit = Fields(where=whole.where, members=whole.part("commit_info"))
    cpu = Fields(where=whole.where, members=machine.members["cpu"] if isinstance(machine.members.get("cpu"), dict) else {})
    found = {**machine.words(MACHINE), **cpu.words({"brand_raw": "cpu", "brand": "cpu"}), **commit.words({"id": "commit"})}
    if commit.members.get("dirty") is True:
        found["commit"] = f"{found.get('commit', '')} with changes"
    return {name: word for name, word in found.items() if word not in ("", "unversioned")}


def _run(where: str, number: int, entry: Any, setting: Mapping[str, Word], at: float | None, faults: list[str]) -> ResultRun | None:
    name = entry.get("fullname") or entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name.strip():
        faults.append(f"{where}: benchmarks, entry {number}: has no name")
        return None
    place = f"{where}: {line(name, 200)}"
    fields = Fields(where=place, members=entry.get("stats") if isinstance(entry.get("stats"), dict) else {})
    if not fields.members:
        faults.append(f"{place}: stats: expected an object with statistics of the rounds")
    for key, statistic in STATISTICS.items():
        fields.take(key, f"{statistic}_time", "s", statistic=statistic, headline=statistic == "median", better="lower")
    rounds, loops = fields.number("rounds"), fields.number("iterations")
    extra = entry.get("extra_info")
    own = [key for key, value in extra.items() if type(value) in (int, float)] if isinstance(extra, dict) else []
    faults += fields.faults
    return ResultRun(
        source=place,
        values=tuple(fields.values),
        benchmark=line(name, 200),
        setting=setting,
        at=at,
        inside="rounds" if rounds is None else f"{rounds:g} rounds" + (f" of {loops:g} iterations" if loops and loops > 1 else ""),
        left_out=(*fields.left_out, *(f"extra_info: {line(key, 60)}, a number of the benchmark's own" for key in own)),
    )


PYTEST_BENCHMARK = Format(name="pytest-benchmark", trial="one file, for it is one process", recognises=recognises, runs=runs)
