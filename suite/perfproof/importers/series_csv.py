"""A series of anybody's: a CSV with the columns `point,value`.

Measurements of one build share its `group`, or without that column its point. Where there are `machine`, `environment` and `metric`
columns, what differs in them is never mixed; a `host` or `gpu` is a machine, a `benchmark`, `model` or `arm` is a metric of its own. Values
with a `unit` are shown in the first one. Other columns are passed over, and named.

The order is that of a column of dates, where there is one; else that of the points' names, where they are dates or versions; where most of
them are, their lines are turned round if those fall. Names that are numbered give the order where the lines stand as text sorts them, or
newest first; else the lines stand as they are. The answer says which it was.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from packaging.version import Version

from perfproof.model.base import foreign_tables, timestamps
from perfproof.model.base.errors import BadInput
from perfproof.model.history.measured_series import Measured, MeasuredTable

COLUMNS = ("point", "value")
OPTIONAL = ("group", "machine", "environment", "metric", "unit")
MACHINES = ("machine", "host", "hostname", "node", "runner", "instance", "hardware", "device", "gpu", "cpu", "driver")
"""Columns whose cells together are a line's machine."""
SERIES = ("metric", "benchmark", "scenario", "case", "workload", "dataset", "task", "test", "arm", "branch", "model", "statistic")
"""Columns whose cells together are what was measured."""
NAMED = foreign_tables.NAMED
NEEDS = f"a series needs {','.join(COLUMNS)} as its first line, with {', '.join(OPTIONAL)} if wanted"
AS_THEY_STAND = "in the order of the lines, the last taken for the newest"
_DIGITS = re.compile(r"[0-9]{1,15}")
_HASH = re.compile(r"-g[0-9a-f]{7,40}$")
"""What `git describe` puts behind a number: a commit, which is no number."""
_VERSION = re.compile(r"v?[0-9]+\.[0-9].*", re.IGNORECASE)


def read(path: Path) -> MeasuredTable:
    """The lines of a table; raises `BadInput` with every faulty line (the first twenty are named)."""
    sheet = foreign_tables.read(path, lambda _: COLUMNS, NEEDS)
    if not sheet.lines and not sheet.faults:
        raise BadInput(f"{path}:2: no points: give one line a measurement, such as 0.32.0,1.25")
    lines, notes = foreign_tables.one_spelling(sheet.lines, ("group", "environment", *MACHINES, *SERIES))
    sheet = replace(sheet, lines=tuple(lines))
    rows, faults = _rows(path, sheet)
    foreign_tables.refuse([*sheet.faults, *faults], path)
    table = _ordered(path, sheet, rows)
    used = (*COLUMNS, *OPTIONAL, *MACHINES, *SERIES, table.order.removeprefix("by the column "))
    return replace(table, notes=(*notes, *foreign_tables.passed_over(sheet.columns, used)))


def _rows(path: Path, sheet: foreign_tables.Sheet) -> tuple[list[Measured], list[str]]:
    """The lines metric by metric, since each has its unit; then as they stood."""
    rows: list[Measured] = []
    faults: list[tuple[int, str]] = []
    for metric in dict.fromkeys(_joined(line, SERIES) for _, line in sheet.lines):
        own = [(number, line) for number, line in sheet.lines if _joined(line, SERIES) == metric]
        beside, odd = foreign_tables.units_of(own, "value", sheet.units)
        values, unit = foreign_tables.measured([line["value"] for _, line in own], beside)
        for (number, line), value, contradiction in zip(own, values, odd, strict=True):
            if fault := contradiction or _fault(line, value):
                faults.append((number, f"{path}:{number}: {fault}"))
            elif not isinstance(value, str):
                kept = {"group": line.get("group", ""), "environment": line.get("environment", ""), "machine": _joined(line, MACHINES)}
                rows.append(Measured(point=line["point"], value=value, metric=metric, unit=unit, line=number, **kept))
    return sorted(rows, key=lambda row: row.line), [fault for _, fault in sorted(faults)]


def _joined(line: dict[str, str], names: Sequence[str]) -> str:
    return ", ".join(line[name] for name in names if line.get(name))


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


def _ordered(path: Path, sheet: foreign_tables.Sheet, rows: list[Measured]) -> MeasuredTable:
    column, at = timestamps.column(path, sheet.columns, [line for _, line in sheet.lines])
    if column:
        return _by(rows, at, f"by the column {column}")
    points = [row.point for row in rows]
    dates = timestamps.named(path, points)
    for keys, sure, words in ((dates.at, dates.sure, "dates"), (_versions(points), True, "versions")):
        if sure and None not in keys:
            return _by(rows, keys, f"by their {words}")
        if 2 * sum(key is not None for key in keys) > len(keys):
            return _turned(path, rows, keys, words)
    numbered = _numbered(points)
    if numbered is not None and _astray(points, numbered):
        return _by(rows, numbered, "by their numbers")
    return MeasuredTable(rows=tuple(rows), order=AS_THEY_STAND, sorted=False, notes=())


def _by(rows: list[Measured], keys: Sequence[Any], words: str) -> MeasuredTable:
    """The lines sorted; those with one key stay as they stand, turned round where all the lines are."""
    falling = all(after <= before for before, after in pairwise(keys)) and keys[0] != keys[-1]
    places = sorted(reversed(range(len(rows))) if falling else range(len(rows)), key=lambda place: keys[place])
    return MeasuredTable(rows=tuple(rows[place] for place in places), order=words, sorted=places != list(range(len(rows))), notes=())


def _turned(path: Path, rows: list[Measured], keys: Sequence[Any], words: str) -> MeasuredTable:
    """The lines as they stand, or turned round, as the names say that have a key; those without one stay where they are among them.

    Raises `BadInput` where these neither rise nor fall: then nobody can tell where the others belong.
    """
    known = [key for key in keys if key is not None]
    if all(before <= after for before, after in pairwise(known)):
        return MeasuredTable(rows=tuple(rows), order=AS_THEY_STAND, sorted=False, notes=())
    if all(before >= after for before, after in pairwise(known)):
        return MeasuredTable(rows=tuple(reversed(rows)), order=f"from the last to the first, since the {words} fall", sorted=True, notes=())
    odd = next((row for row, key in zip(rows, keys, strict=True) if key is None), rows[0])
    raise BadInput(
        f"{path}:{odd.line}: point: {odd.point[:40]!r} has no place among {words} that neither rise nor fall: sort the lines, the oldest "
        f"first, or add a column date"
    )


def _versions(points: Sequence[str]) -> list[Version | None]:
    """The version that each name is, such as 0.32.0."""
    return [_version(point) for point in points]


def _version(point: str) -> Version | None:
    try:
        return Version(point) if _VERSION.fullmatch(point) else None
    except ValueError:
        return None


def _numbered(points: Sequence[str]) -> list[tuple[int, ...]] | None:
    """The numbers in names such as b9, run10-main or v0.9.1-12-gabc1234; None unless all have the same text around them."""
    names = [_HASH.sub("", point) for point in points]
    around = {tuple(_DIGITS.split(name)) for name in names}
    found = [tuple(map(int, _DIGITS.findall(name))) for name in names]
    return found if len(around) == 1 and all(found) else None


def _astray(points: Sequence[str], numbers: Sequence[Any]) -> bool:
    """Whether the lines stand newest first or as text sorts them: otherwise numbers (of pull requests, say) need not be their order."""
    rising = list(numbers) == sorted(numbers)
    text = list(points) in (sorted(points), sorted(points, reverse=True))
    return not rising and (text or list(numbers) == sorted(numbers, reverse=True))
