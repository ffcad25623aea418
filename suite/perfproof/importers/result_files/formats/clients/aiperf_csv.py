"""`profile_export_aiperf.csv` and genai-perf's: a section of metrics with statistics of the requests, then one of single figures.

The sections that come behind (GPU telemetry) are passed over. A CSV does not say what was asked nor when: the JSON beside it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from perfproof.importers.result_files.fields import Fields, refuse
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.formats.clients import aiperf
from perfproof.importers.result_files.source import Source
from perfproof.model.base import numerals
from perfproof.model.records.result_runs import ResultRun

FIGURES, OF_REQUESTS = ({name.replace("_", " "): name for name in names} for names in (aiperf.FIGURES, aiperf.OF_REQUESTS))
"""Metrics by the words of a row."""
DONE = {
    "request count": "requests",
    "total input sequence length": "input tokens",
    "total output sequence length": "output tokens",
}
_NAMED = re.compile(r"(?P<name>[^()]+?)\s*(?:\((?P<unit>[^()]*)\))?")


def recognises(source: Source) -> bool:
    """Whether the header is of metrics and their statistics, and a latency of requests is among them."""
    table = source.table
    head = [cell.strip() for cell in table[0]] if table else []
    return head[:2] == ["Metric", "avg"] and {"p50", "p99"} <= set(head) and any(_named(row[0])[0] == "request latency" for row in table)


def runs(source: Source) -> list[ResultRun]:
    """The run of a file; raises `BadInput` with every fault."""
    whole = Fields(where=str(source.path), members={})
    done: dict[str, float] = {}
    for head, row in _rows(source.table):
        if len(row) != len(head) or len(set(head)) < len(head):
            whole.faults.append(f"{source.path}: {row[0][:60]}: {len(row)} cells under {len(set(head))} columns: write the file again")
            continue
        name, unit = _named(row[0])
        if head == ("Metric", "Value"):
            cell = _cells(source, row[:1], row[1:2], ("value",))
            if name in FIGURES:
                called = FIGURES[name]
                cell.take("value", called, _unit(name, unit), headline=called in aiperf.HEADLINES)
            elif name in DONE and (value := cell.number("value")) is not None:
                done[DONE[name]] = value
            whole.join(cell, name)
        elif name in OF_REQUESTS:
            cells = _cells(source, row[:1], row[1:], head[1:])
            for key, statistic in aiperf.STATISTICS.items():
                called = f"{statistic}_{OF_REQUESTS[name]}"
                cells.take(key, called, unit, statistic=statistic, headline=called in aiperf.HEADLINES)
            whole.join(cells, name)
    refuse(whole.faults)
    inside = f"{done['requests']:g} requests" if "requests" in done else "requests"
    return [ResultRun(source=str(source.path), values=tuple(whole.values), done=done, inside=inside, left_out=tuple(whole.left_out))]


def _rows(table: Sequence[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The rows of the two sections, each with its section's header; nothing of what comes behind another header."""
    head: tuple[str, ...] = ()
    for row in table:
        if row[0].strip() == "Metric":
            head = tuple(cell.strip() for cell in row)
        elif row[0].strip() == "Endpoint" and len(row) > 2:
            return
        elif head:
            yield head, row


def _named(label: str) -> tuple[str, str]:
    """A row's metric in small letters, and its unit."""
    matched = _NAMED.fullmatch(label.strip())
    return (matched["name"].casefold(), aiperf.UNITS.get(matched["unit"] or "", matched["unit"] or "")) if matched else ("", "")


def _unit(name: str, unit: str) -> str:
    """genai-perf's "per sec" is of what its metric counts."""
    return {"request throughput": "req/s", "goodput": "req/s"}.get(name, "tok/s") if unit == "per sec" else unit


def _cells(source: Source, label: Sequence[str], cells: Sequence[str], names: Sequence[str]) -> Fields:
    where = f"{source.path}: {label[0][:60]}"
    members: dict[str, Any] = {name: _cell(cell) for name, cell in zip(names, cells, strict=False)}
    return Fields(where=where, members=members)


def _cell(cell: str) -> Any:
    """A number with a decimal point; an empty cell and N/A are none, and anything else stays the text that it is, which is a fault."""
    text = cell.strip()
    if text in ("", "N/A"):
        return None
    return numerals.value(text, "point") if numerals.is_number(text) else text


AIPERF_CSV = Format(name="AIPerf or genai-perf (CSV)", trial="one run of the client", recognises=recognises, runs=runs, rounded=True)
