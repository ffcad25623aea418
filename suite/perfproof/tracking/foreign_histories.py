"""Other tools' histories as ours: a table that is looked for steps in, or entries of the history folder."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perfproof.analysis.stats.samples import typical
from perfproof.importers.result_files import histories
from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.base.quantities import converted, scale
from perfproof.model.history.foreign_points import ForeignPoint
from perfproof.model.history.measured_series import Measured, MeasuredTable
from perfproof.model.history.point import POINT_SCHEMA, Entry, Point, Setting, identified
from perfproof.model.scenarios.metrics import METRICS, base_name

RENAMED = {"output_tput_per_gpu": "output_throughput", "tput_per_gpu": "total_token_throughput"}
"""Throughputs of one of several devices, and the registry's name of that of all."""
UNKNOWN = "unknown"
"""What a machine or an arm is called that the file says nothing of."""


def table(file: Path) -> MeasuredTable:
    """The points as lines: a line a value, the oldest first, in the order of their dates; the values of a series in one unit."""
    found = histories.read(file)
    rows = [
        Measured(
            point=point.build,
            value=value,
            group=point.build,
            machine=point.machine,
            environment="",
            metric=" ".join(filter(None, [point.scenario, point.metric, point.arm])),
            unit=point.unit,
            line=number,
        )
        for number, point in enumerate(found.points, 1)
        for value in point.values
    ]
    same, notes = _in_one_unit(rows)
    return MeasuredTable(rows=tuple(same), order=f"by the dates of {found.tool}", sorted=False, notes=(*found.notes, *notes))


def _in_one_unit(rows: Sequence[Measured]) -> tuple[list[Measured], list[str]]:
    """The lines with each series in its first unit, and a sentence on each with units that can't be converted: those part it."""
    units: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for row in rows:
        units[row.machine, row.metric].setdefault(scale(row.unit)[0], row.unit)
    notes = [
        f"{metric[:80]}: values in {few([_named(unit) for unit in first.values()], 5)} can't be converted: each is a series of its own"
        for (_, metric), first in units.items()
        if len(first) > 1
    ]
    return [_converted(row, units[row.machine, row.metric]) for row in rows], list(dict.fromkeys(notes))


def _converted(row: Measured, first: Mapping[str, str]) -> Measured:
    """A line in the first unit of what its own measures; where the series has units of several things, its metric names that."""
    unit = first[scale(row.unit)[0]]
    value = converted(row.value, row.unit, unit)
    metric = f"{row.metric} in {_named(unit)}" if len(first) > 1 else row.metric
    return replace(row, value=row.value if value is None else value, unit=unit, metric=metric)


def _named(unit: str) -> str:
    return unit or "no unit"


def entries(file: Path) -> tuple[list[Entry], list[str]]:
    """Points of the metrics that the registry knows, with their settings; and what was left out, in sentences.

    Raises `BadInput` where it knows none of them.
    """
    found = histories.read(file)
    made: dict[str, Entry] = {}
    unknown: dict[str, None] = {}
    for point in found.points:
        known = _known(point)
        if known is None:
            unknown[point.metric] = None
        else:
            made.update((entry.id, entry) for entry in _entries(point, *known))
    told = f"{file}: metrics that a history has no place for: {few(list(unknown), 5)}; 'perfproof steps {file.name}' looks at them"
    if not made:
        raise BadInput(told)
    return list(made.values()), [*found.notes, *([told] if unknown else [])]


def _known(point: ForeignPoint) -> tuple[str, float] | None:
    """The registry's name of a point's metric, and what its values are to be multiplied by for the base unit; None for another metric."""
    name, unit = RENAMED.get(point.metric, point.metric), point.unit
    if base_name(name) not in METRICS and name.endswith("_ms"):
        name, unit = name.removesuffix("_ms"), "ms"
    row = METRICS.get(base_name(name))
    if row is None or point.better not in (None, row.better):
        return None
    factor = 1.0 if unit in (row.unit, "") else converted(1.0, unit, row.unit)
    return None if factor is None else (name, factor * point.devices)


def _entries(point: ForeignPoint, name: str, factor: float) -> Iterator[Entry]:
    row, machine, scenario = METRICS[base_name(name)], _file_name(point.machine), _file_name(point.scenario)
    setting = Setting(schema=POINT_SCHEMA, id=identified(what={}), scenario=scenario, machine=machine, what={})
    yield setting
    values = [value * factor for value in point.values]
    said: dict[str, Any] = {
        "scenario": scenario,
        "metric": name,
        "arm": point.arm or UNKNOWN,
        "build": point.build,
        "version": point.version,
        "sources": "",
        "machine": machine,
        "environment": setting.id,
        "packages": setting.id,
        "workload": identified(scenario=point.scenario),
        "values": values,
        "when": datetime.fromtimestamp(point.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    yield Point(
        schema=POINT_SCHEMA,
        id=identified(**said),
        unit=row.unit,
        better=row.better,
        kind="witness" if row.kind == "witness" else "timed",
        value=typical(values),
        rounds=0,
        **said,
    )


def _file_name(text: str) -> str:
    """A name that a history's file or folder can have."""
    return re.sub(r"[^A-Za-z0-9._=-]+", "_", text).strip("._")[:100] or UNKNOWN
