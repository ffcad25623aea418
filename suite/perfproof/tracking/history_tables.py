"""A history's series and points as tables on a terminal: `perfproof history list` and `show`.

Values that all rows share stand once above them, and a scenario once above its own rows, so that rows fit 80 columns and no name is cut.
Rows are in the order of versions, as everywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from perfproof.analysis.stats.number_format import count
from perfproof.history import EVERYTHING, Wanted
from perfproof.history.series import version_order
from perfproof.model.base.errors import EXIT_PASS
from perfproof.model.base.untrusted import line
from perfproof.report.base import units
from perfproof.tracking import name_suggestions
from perfproof.tracking.console import print_json, say, warn

if TYPE_CHECKING:
    import pandas as pd

SERIES = ["scenario", "metric", "arm", "machine", "workload"]
SHOWN = 50
"""The points that `history show` prints by default."""
SHORT = 8
"""The characters shown of a machine's or a workload's fingerprint where there are several."""
RIGHT = ("points", "builds", "value")
"""Columns of numbers."""

Row = dict[str, str]


def list_series(folder: Path, wanted: Wanted = EVERYTHING, *, as_json: bool = False, console: Console | None = None) -> int:
    """One line per series: how many points of how many builds, the newest build and its value."""
    from perfproof.history import point_table

    table = point_table.table(folder, wanted)
    name_suggestions.check(folder, wanted, table.rows)
    series = [_summary(own) for _, own in table.rows.groupby(SERIES, observed=True)]
    if as_json:
        print_json("series", series, table.warnings)
        return EXIT_PASS
    console = console or Console()
    cells = [
        {**_names(one), "points": str(one["points"]), "builds": str(one["builds"]), "newest": one["last"], "value": _value(one)}
        for one in series
    ]
    _print(console, cells, "newest")
    say(console, f"{count(len(table.rows), 'point')} in {len(series)} series")
    warn(*table.warnings)
    return EXIT_PASS


def _summary(own: pd.DataFrame) -> dict[str, Any]:
    """One series: its names, its size, and the point that was measured last."""
    when = own["when"].to_numpy()
    newest = own.iloc[np.flatnonzero(when == when.max())[-1]]
    names = {name: str(newest[name]) for name in (*SERIES, "unit", "kind")}
    points = {"points": len(own), "builds": int(own["build"].nunique()), "last": str(newest["build"]), "when": str(newest["when"])}
    return {**names, **points, "value": float(newest["value"])}


def show(folder: Path, wanted: Wanted = EVERYTHING, *, last: int = SHOWN, as_json: bool = False, console: Console | None = None) -> int:
    """The points in the order of versions, then of time; without `as_json` only the last `last` of them, series by series."""
    from perfproof.history import point_table

    table = point_table.table(folder, wanted)
    name_suggestions.check(folder, wanted, table.rows)
    rows = _ordered(table.rows)
    if as_json:
        print_json("points", rows.to_dict("records"), table.warnings)
        return EXIT_PASS
    console = console or Console()
    points = rows.tail(last).sort_values(SERIES, kind="stable").to_dict("records")
    years = {point["when"][:4] for point in points}
    _print(
        console, [{**_names(point), "day": _day(point, years), "build": _build(point), "value": _value(point)} for point in points], "build"
    )
    if len(rows) > last:
        say(console, f"the last {last} of {len(rows):,} points; --last N or --json shows more")
    warn(*table.warnings)
    return EXIT_PASS


def _ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows by version, then by time; builds without a version come last."""
    versions = rows["version"].cat.categories
    places = {version: place for place, version in enumerate(sorted(versions, key=version_order))}
    of_row = np.array([places[version] for version in versions], dtype=np.int64)[rows["version"].cat.codes.to_numpy()]
    return rows.iloc[np.lexsort((rows["when"].to_numpy(dtype=str), of_row))]


# --- cells --------------------------------------------------------------------------------------------


def _names(one: Mapping[Any, Any]) -> Row:
    return {name: str(one[name]) for name in SERIES}


def _value(one: Mapping[Any, Any]) -> str:
    return units.quantity(one["value"], one["unit"])


def _day(point: Mapping[Any, Any], years: set[str]) -> str:
    """The day of a point, without its year where all points are of one year and on several days."""
    return str(point["when"][5:10] if len(years) == 1 else point["when"][:10])


def _build(point: Mapping[Any, Any]) -> str:
    """A build's label, with its version where the label lacks it: a source tree keeps its label from night to night."""
    named = not point["version"] or point["version"] in point["build"]
    return str(point["build"]) if named else f"{point['build']} ({point['version']})"


# --- tables -------------------------------------------------------------------------------------------


def _print(console: Console, rows: Sequence[Row], build: str) -> None:
    """Prints the rows, which have the same columns; `build` is the column of the builds. The terminal wraps long lines."""
    if not rows:
        return
    rows = _told_apart([{name: line(cell) for name, cell in row.items()} for row in rows])
    common = {name: rows[0][name] for name in SERIES if name in rows[0] and len({row[name] for row in rows}) == 1}
    if common:
        console.print(Text(", ".join(f"{name} {cell}" for name, cell in common.items()), style="bold"), soft_wrap=True)
    for text in _lines(*_shortened(rows, build, [name for name in rows[0] if name not in common])):
        console.print(text, soft_wrap=True)


def _told_apart(rows: list[Row]) -> list[Row]:
    """The rows without the workload, where the other names distinguish the series."""
    series = {tuple(row[name] for name in SERIES) for row in rows}
    if len({one[:-1] for one in series}) == len(series):
        return [{name: cell for name, cell in row.items() if name != "workload"} for row in rows]
    return rows


def _shortened(rows: Sequence[Row], build: str, shown: Sequence[str]) -> tuple[list[Row], dict[str, str]]:
    """The rows with shortened cells, and the headers of their columns."""
    heads = {name: name for name in shown}
    kinds = {row[build].partition(" ")[0] for row in rows}
    if len(kinds) == 1 and all(" " in row[build] for row in rows):
        (kind,) = kinds
        rows = [{**row, build: row[build].partition(" ")[2]} for row in rows]
        heads[build] = kind if build == "build" else f"{build} {kind}"
    for name in ("machine", "workload"):
        cells = {row[name] for row in rows if name in heads}
        if cells and len({cell[:SHORT] for cell in cells}) == len(cells):
            rows = [{**row, name: row[name][:SHORT]} for row in rows]
    return list(rows), heads


def _lines(rows: Sequence[Row], heads: Mapping[str, str]) -> Iterator[Text]:
    """The header and the rows; where scenarios differ, each stands above its own rows."""
    grouped = "scenario" in heads
    beside = [name for name in heads if name != "scenario"]
    widths = {name: max(cell_len(heads[name]), *(cell_len(row[name]) for row in rows)) for name in beside}
    indent = "  " if grouped else ""
    yield Text(indent + _padded(heads, widths), style="bold")
    before = ""
    for row in rows:
        if grouped and row["scenario"] != before:
            before = row["scenario"]
            yield Text(before, style="bold")
        yield Text(indent + _padded(row, widths))


def _padded(row: Mapping[str, str], widths: Mapping[str, int]) -> str:
    cells = []
    for name, width in widths.items():
        space = " " * (width - cell_len(row[name]))
        cells.append(space + row[name] if name in RIGHT else row[name] + space)
    return "  ".join(cells).rstrip()
