"""A series of anybody's: a CSV with the columns `point,value`.

Measurements of one build share its `group`; without that column each line is a build. Where there are `machine`, `environment` and
`metric` columns, what differs in them is never mixed; values with a `unit` are told in the first one. Other columns are passed over.

The order is that of a column of dates, where there is one; else that of the points' names, where they are dates or versions; names that
are numbered turn the lines round where these stand as text sorts them, or newest first; else the lines stand as they are. Which it was
is told.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from suite.model import cells, moments
from suite.model.errors import BadInput

COLUMNS = ("point", "value")
OPTIONAL = ("group", "machine", "environment", "metric", "unit")
NAMED = cells.NAMED
NEEDS = f"a series needs {','.join(COLUMNS)} as its first line, with {', '.join(OPTIONAL)} if wanted"
AS_THEY_STAND = "in the order of the lines, the last taken for the newest"
_NUMBERED = re.compile(r"(?P<prefix>\D*)(?P<number>[0-9]{1,15})")
_VERSION = re.compile(r"v?[0-9]+\.[0-9].*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line: `group`, `machine`, `environment`, `metric` and `unit` are "" where the table has no such column."""

    point: str
    value: float
    group: str
    machine: str
    environment: str
    metric: str
    unit: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The lines, the oldest first; `order` says in words how that was found, `sorted` whether they stand otherwise in the file."""

    rows: tuple[Measured, ...]
    order: str
    sorted: bool


def read(path: Path) -> Table:
    """The lines of a table; raises `BadInput` with every faulty line (the first twenty are named)."""
    sheet = cells.read(path, lambda _: COLUMNS, (*OPTIONAL, *moments.COLUMNS), NEEDS)
    if not sheet.lines and not sheet.faults:
        raise BadInput(f"{path}:2: no points: give one line a measurement, such as 0.32.0,1.25")
    rows, faults = _rows(path, sheet)
    cells.refuse([*sheet.faults, *faults], path)
    return _ordered(path, sheet, rows)


def _rows(path: Path, sheet: cells.Sheet) -> tuple[list[Measured], list[str]]:
    """The lines metric by metric, since each has its unit; then as they stood."""
    rows: list[Measured] = []
    faults: list[tuple[int, str]] = []
    for metric in dict.fromkeys(line.get("metric", "") for _, line in sheet.lines):
        own = [(number, line) for number, line in sheet.lines if line.get("metric", "") == metric]
        beside = [line.get("unit", "") or sheet.units.get("value", "") for _, line in own]
        values, unit = cells.measured([line["value"] for _, line in own], beside)
        for (number, line), value in zip(own, values, strict=True):
            if fault := _fault(line, value):
                faults.append((number, f"{path}:{number}: {fault}"))
            elif not isinstance(value, str):
                kept = {name: line.get(name, "") for name in ("group", "machine", "environment")}
                rows.append(Measured(point=line["point"], value=value, metric=metric, unit=unit, line=number, **kept))
    return sorted(rows, key=lambda row: row.line), [fault for _, fault in sorted(faults)]


def _fault(line: dict[str, str], value: float | str) -> str:
    if not line["point"]:
        return "point: is empty: name the build, commit or date"
    if not line.get("group", "-"):
        return "group: is empty: name the build that the measurement is of, or leave the column out"
    if not line.get("metric", "-"):
        return "metric: is empty: name what was measured, or leave the column out"
    if not line["value"]:
        return "value: is empty: give a number, or leave the line out"
    if isinstance(value, str):
        return f"value: {value}"
    return "" if math.isfinite(value) else f"value: {line['value'][:40]} is not a finite number: leave the line out"


# --- order ----------------------------------------------------------------------------------------------------


def _ordered(path: Path, sheet: cells.Sheet, rows: list[Measured]) -> Table:
    column, at = moments.column(path, sheet.columns, [line for _, line in sheet.lines])
    if column:
        return _by(rows, at, f"by the column {column}")
    points = [row.point for row in rows]
    for keys, words in ((moments.all_of(points), "by their dates"), (_versions(points), "by their versions")):
        if keys is not None:
            return _by(rows, keys, words)
    numbered = _numbered(points)
    if numbered is not None and _astray(points, numbered):
        return _by(rows, numbered, "by their numbers")
    return Table(rows=tuple(rows), order=AS_THEY_STAND, sorted=False)


def _by(rows: list[Measured], keys: Sequence[Any], words: str) -> Table:
    """The lines sorted; those with one key stay as they stand, turned round where all the lines are."""
    falling = all(after <= before for before, after in pairwise(keys)) and keys[0] != keys[-1]
    places = sorted(reversed(range(len(rows))) if falling else range(len(rows)), key=lambda place: keys[place])
    return Table(rows=tuple(rows[place] for place in places), order=words, sorted=places != list(range(len(rows))))


def _versions(points: Sequence[str]) -> list[Version] | None:
    """None unless all are versions, such as 0.32.0."""
    try:
        return [Version(point) for point in points] if all(_VERSION.fullmatch(point) for point in points) else None
    except InvalidVersion:
        return None


def _numbered(points: Sequence[str]) -> list[float] | None:
    """The numbers of names such as b9 and b10; None unless all are a number behind one and the same text."""
    found = [_NUMBERED.fullmatch(point) for point in points]
    if not all(found) or len({match["prefix"] for match in found if match}) > 1:
        return None
    return [float(match["number"]) for match in found if match]


def _astray(points: Sequence[str], numbers: Sequence[float]) -> bool:
    """Whether the lines stand newest first or as text sorts them: otherwise numbers (of pull requests, say) need not be their order."""
    rising = list(numbers) == sorted(numbers)
    text = list(points) in (sorted(points), sorted(points, reverse=True))
    return not rising and (text or list(numbers) == sorted(numbers, reverse=True))
