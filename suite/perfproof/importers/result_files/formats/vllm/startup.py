"""`vllm bench startup --output-json`: cold and warm starts, each in a process of its own. So each start is a trial.

A sweep's rows have a `run_number` and the options that it changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from perfproof.importers.result_files.fields import Fields, refuse
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.records.result_runs import ResultRun

_TIMES = re.compile(r"(?P<phase>cold|warm)_(?P<what>[a-z_]+)_times")
_OWN = re.compile(r"(avg_)?(cold|warm)_[a-z_]+_(time|times|percentiles)|run_number")


def recognises(source: Source) -> bool:
    """Whether every object has an average cold start and the times that it is of."""
    found = source.objects
    return bool(found) and all({"avg_cold_startup_time", "cold_startup_times"} <= each.keys() for _, each in found)


def runs(source: Source) -> list[ResultRun]:
    """The starts of a file; raises `BadInput` with every fault."""
    faults: list[str] = []
    found = [run for where, members in source.objects for run in _starts(where, members, faults)]
    refuse(faults)
    return found


def _starts(where: str, members: Mapping[str, Any], faults: list[str]) -> Iterator[ResultRun]:
    """Every start of one object, by phase and number."""
    changed = {key: key for key in members if not _OWN.fullmatch(key)}
    load = Fields(where=where, members=members).words(changed)
    lists = {key: matched for key in members if (matched := _TIMES.fullmatch(key))}
    faults += [f"{where}: {key}: expected a list of times" for key in lists if not isinstance(members[key], list)]
    for phase in ("cold", "warm"):
        own = {
            matched["what"]: members[key] for key, matched in lists.items() if matched["phase"] == phase and isinstance(members[key], list)
        }
        if len({len(times) for times in own.values()}) > 1:
            faults.append(f"{where}: the lists of {phase} starts differ in length: write the file again")
            continue
        for number in range(len(next(iter(own.values()), []))):
            fields = Fields(where=f"{where}: {phase} start {number + 1}", members={what: times[number] for what, times in own.items()})
            for what in own:
                fields.take(what, f"{what}_time", "s", headline=what == "startup")
            faults += fields.faults
            yield ResultRun(
                source=fields.where, values=tuple(fields.values), benchmark=f"{phase} start", asked=load, left_out=tuple(fields.left_out)
            )


STARTUP = Format(name="vllm bench startup", trial="one start, each in its own process", recognises=recognises, runs=runs)
