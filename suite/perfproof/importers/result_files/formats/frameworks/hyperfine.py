"""hyperfine's JSON (`--export-json`): each launch of a command is a process of its own, and so a trial.

hyperfine runs one command after the other, and writes no dates: nobody can tell two files that took turns from two that did not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from perfproof.importers.result_files.fields import Fields, refuse, with_values
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.base.untrusted import line
from perfproof.model.records.result_runs import ResultRun

STATISTICS = ("mean", "median")


def recognises(source: Source) -> bool:
    """Whether it is one object whose results are commands with the mean of their times."""
    found = source.objects
    if len(found) != 1 or not isinstance(results := found[0][1].get("results"), list) or not results:
        return False
    return all(isinstance(each, dict) and {"command", "mean", "stddev"} <= each.keys() for each in results)


def runs(source: Source) -> list[ResultRun]:
    """A run a launch; raises `BadInput` with every fault."""
    where, members = source.objects[0]
    faults: list[str] = []
    found = [run for number, each in enumerate(members["results"], 1) for run in _launches(f"{where}: result {number}", each, faults)]
    refuse(faults)
    return with_values(found, where)


def _launches(where: str, members: Mapping[str, Any], faults: list[str]) -> Iterator[ResultRun]:
    fields = Fields(where=where, members=members)
    name, times = line(members["command"], 200), fields.numbers("times")
    codes = members.get("exit_codes")
    failed = [code for code in codes if code not in (0, None)] if isinstance(codes, list) else []
    doubts = (f"{len(failed)} of {len(times)} launches ended with an error, and hyperfine went on",) if failed else ()
    faults += fields.faults
    if not times:
        yield _summary(fields, name)
    for number, value in enumerate(times, 1):
        launch = Fields(where=f"{where}, launch {number}", members={})
        launch.take("time", "time", "s", value=value, headline=True, better="lower")
        left_out = (*launch.left_out, *(fields.left_out if number == 1 else ()))
        yield ResultRun(
            source=launch.where, values=tuple(launch.values), benchmark=name, left_out=left_out, doubts=doubts if number == 1 else ()
        )


def _summary(fields: Fields, name: str) -> ResultRun:
    """A command whose launches the file doesn't keep: of so many trials it has the statistics of one set."""
    summary = Fields(where=fields.where, members=fields.members)
    for statistic in STATISTICS:
        summary.take(statistic, f"{statistic}_time", "s", statistic=statistic, headline=statistic == "mean", better="lower")
    return ResultRun(
        source=summary.where,
        values=tuple(summary.values),
        benchmark=name,
        inside="launches, of which the file keeps statistics alone",
        left_out=tuple(summary.left_out),
    )


HYPERFINE = Format(name="hyperfine", trial="one launch of the command", recognises=recognises, runs=runs)
