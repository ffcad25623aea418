"""A result file of airspeed velocity (`results/MACHINE/COMMIT-ENVIRONMENT.json`, version 2): one run of asv for one commit.

Its samples come from processes that the file doesn't tell apart, so the file is one trial of each benchmark. The kind of a benchmark
stands in its name: `time_` is in seconds, `mem_` and `peakmem_` in bytes; what `track_` counts has no direction here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from perfproof.importers.result_files.fields import Fields, refuse, with_values
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.base import timestamps
from perfproof.model.base.untrusted import line
from perfproof.model.records.result_runs import ResultRun, Word
from perfproof.model.scenarios.metrics import Better

VERSION = 2
MOST_CASES = 10_000
BUILD = {"commit_hash": "commit", "env_name": "environment"}
KINDS: Sequence[tuple[tuple[str, ...], str, str, Better | None]] = (
    (("time_", "timeraw_"), "time", "s", "lower"),
    (("mem_",), "memory", "B", "lower"),
    (("peakmem_",), "peak_memory", "B", "lower"),
    (("track_",), "value", "", None),
)
"""How the last part of a benchmark's name begins, and what is measured then."""


def recognises(source: Source) -> bool:
    """Whether it is one object with a commit, an environment, results and the names of their columns."""
    found = source.objects
    return len(found) == 1 and {"commit_hash", "env_name", "result_columns", "results"} <= found[0][1].keys()


def runs(source: Source) -> list[ResultRun]:
    """A run a benchmark and case; raises `BadInput` with every fault."""
    where, members = source.objects[0]
    whole = Fields(where=where, members=members)
    columns, results = members["result_columns"], whole.part("results")
    if members.get("version") != VERSION:
        refuse([f"{where}: version: {line(members.get('version'), 40)} is not {VERSION}: let a newer asv rewrite it (asv update)"])
    if not isinstance(columns, list) or "result" not in columns or not all(isinstance(each, str) for each in columns):
        whole.faults.append(f"{where}: result_columns: expected a list of names with 'result'")
        columns = []
    setting = _setting(whole)
    found = [run for name, row in results.items() for run in _benchmark(where, name, row, columns, setting, whole.faults)]
    refuse(whole.faults)
    return with_values(found, where)


def _setting(whole: Fields) -> dict[str, Word]:
    params = Fields(where=whole.where, members=whole.part("params"))
    host, build = params.words({"machine": "machine", "cpu": "cpu", "os": "os"}), whole.words(BUILD)
    return {name: word for name, word in {**host, **build}.items() if word != ""}


def _benchmark(
    where: str, name: str, row: Any, columns: Sequence[str], setting: Mapping[str, Word], faults: list[str]
) -> Iterator[ResultRun]:
    place = f"{where}: {line(name, 200)}"
    if not isinstance(row, list) or len(row) > len(columns):
        faults.append(f"{place}: expected a list of at most {len(columns)} columns, as result_columns has")
        return
    cells = dict(zip(columns, row, strict=False))
    values = cells.get("result")
    values = values if isinstance(values, list) else [values]
    cases = _cases(cells.get("params"))
    if cases is None or len(cases) != len(values):
        faults.append(f"{place}: {len(values)} results do not fit its parameters")
        return
    started: Any = cells.get("started_at")
    at = timestamps.epoch(started / 1000) if type(started) in (int, float) else None
    for case, value in zip(cases, values, strict=True):
        yield _run(f"{place}{case}", f"{line(name, 200)}{case}", value, setting, at, faults)


def _cases(params: Any) -> list[str] | None:
    """The names of a benchmark's cases, in the order of its results: "(10, 'list')"; None for what are no parameters."""
    lists: Any = params or []
    if not isinstance(lists, list) or not all(isinstance(each, list) for each in lists) or prod(map(len, lists)) > MOST_CASES:
        return None
    return [f"({', '.join(line(each, 60) for each in case)})" if case else "" for case in product(*lists)]


def _run(where: str, name: str, value: Any, setting: Mapping[str, Word], at: float | None, faults: list[str]) -> ResultRun:
    last = name.partition("(")[0].rpartition(".")[2]
    _, metric, unit, better = next((kind for kind in KINDS if last.startswith(kind[0])), KINDS[-1])
    fields = Fields(where=where, members={"result": value})
    fields.take("result", metric, unit, headline=better is not None, better=better)
    if value is None:
        fields.left_out.append("failed, or was skipped")
    faults += fields.faults
    return ResultRun(
        source=where,
        values=tuple(fields.values),
        benchmark=name,
        setting=setting,
        at=at,
        inside="samples",
        left_out=tuple(fields.left_out),
    )


ASV = Format(name="asv", trial="one file, whose processes it doesn't tell apart", recognises=recognises, runs=runs)
