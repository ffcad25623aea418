"""Sides in rows, in the labels of rows, or named by the heading above: each number under its column's metric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.context.readings import Reading
from perfproof.importers.pasted_text.tables.captions import above
from perfproof.importers.pasted_text.tables.sides import side_labels
from perfproof.importers.pasted_text.tables.sides.sided_columns import is_switched
from perfproof.importers.pasted_text.tables.table_grid import Grid, labels, made_of_runs, reading, run_in, unit_in, unit_of_labels
from perfproof.importers.pasted_text.words.cells import Cell, unit_of
from perfproof.importers.pasted_text.words.column_names import KEY, without_unit
from perfproof.importers.pasted_text.words.run_means import is_mean
from perfproof.importers.pasted_text.words.run_numbers import RUN, run_of
from perfproof.model.scenarios.metric_directions import better
from perfproof.model.scenarios.side_names import role, split


def rows_of_sides(grid: Grid, at: int) -> Iterator[Reading | str]:
    sized = _with_sizes(grid, at)
    switch = side_labels.is_switch(grid.head[at], [row[at].text for row in grid.rows])
    for row, part in zip(grid.rows, grid.parts, strict=True):
        side, run = (f"{grid.head[at]}={row[at].text}", "") if switch and row[at].text else _with_run(row[at].text)
        if side and side_labels.claims(side):
            yield f"{side} of the sides"
        elif side:
            yield from _values(sized, row, part, without_unit(side), run, unit_of(side))


def _with_sizes(grid: Grid, at: int) -> Grid:
    """The table; where the head of its sides is what the numbers in the other heads are of, "bs | 1 | 4 | 16", these with its name."""
    key = grid.head[at]
    metrics = [column for column in grid.columns if column.kind == "metric"]
    if not KEY.match(key) or not all(re.fullmatch(r"[0-9]{1,7}k?", column.metric) for column in metrics):
        return grid
    columns = [replace(column, metric=f"{key} {column.metric}") if column.kind == "metric" else column for column in grid.columns]
    return replace(grid, columns=columns)


def _with_run(name: str) -> tuple[str, str]:
    """A side's name without the number of its run, and that."""
    found = RUN.search(name)
    return (name[: found.start()].strip(" ,:(-–—"), run_of(found)) if found else (name, "")


def _values(grid: Grid, row: Sequence[Cell], part: str, side: str, run: str = "", of_row: str = "") -> Iterator[Reading | str]:
    """The numbers of a row that is of one side, each under its column's metric."""
    made = made_of_runs(grid, row)
    if made and not is_mean(made):
        yield f"{made} of the runs of {side}" if side else f"{made} of the runs"
        return
    words = [text for text, _ in labels(grid, row)]
    for column, one in zip(grid.columns, row, strict=True):
        if column.kind != "metric":
            continue
        numbered = RUN.fullmatch(column.metric)
        mean = made or (column.metric if is_mean(column.metric) and any(RUN.fullmatch(each.metric) for each in grid.columns) else "")
        label, measure, named = _called(grid, words, "" if numbered or mean == column.metric else column.metric, column.unit)
        if one.kind == "value":
            yield reading(
                grid,
                part,
                side=side,
                label=label or "value",
                measure=measure,
                digits=one.digits,
                unit=one.unit or unit_in(grid, row) or of_row,
                named=named,
                run="" if mean else (run_of(numbered) if numbered else run) or run_in(grid, row),
                made=mean,
                kind="column",
            )
        elif one.text:
            yield f"{label} of {side}: {one.text}" if side else f"{label}: {one.text}"


def _called(grid: Grid, words: Sequence[str], metric: str, unit: str) -> tuple[str, str, str]:
    """What a number is called, what decides its direction, and the unit of its name: its column's, its row's, or the caption's."""
    own = next((text for text in words if better(text)), "") if not better(metric) else ""
    parts = [own, *(text for text in words if text != own), metric] if own else [metric, *words]
    named = unit_of(own) or unit or unit_of_labels(grid, own or metric)
    label, measure = ", ".join(text for text in parts if text), own or metric
    if not named and better(measure) is None and (caption := above(grid.context)).decides:
        return ", ".join(text for text in (caption.label, label) if text), caption.decides, caption.unit
    return label, measure or label, named


def sides_in_labels(grid: Grid) -> Iterator[Reading | str] | None:
    """Rows whose labels are a side and a case, "main, 8 users", where either side has the same cases."""
    at = next((place for place, column in enumerate(grid.columns) if column.kind == "label"), None)
    if at is None:
        return None
    ways = [split(row[at].text) for row in grid.rows]
    sides: dict[str, set[str]] = {}
    for pairs in ways:
        for side, rest in pairs:
            sides.setdefault(rest.casefold(), set()).add(role(side))
    shared = {rest for rest, roles in sides.items() if {"baseline", "candidate"} <= roles}
    found = [next((pair for pair in pairs if pair[1].casefold() in shared), None) for pairs in ways]
    if len(shared) == 1 and is_switched(next(iter(shared)), ways):
        return None
    if not shared or sum(pair is not None for pair in found) < 2:
        return None
    return _in_labels(grid, at, found)


def _in_labels(grid: Grid, at: int, found: Sequence[tuple[str, str] | None]) -> Iterator[Reading | str]:
    for row, part, pair in zip(grid.rows, grid.parts, found, strict=True):
        if pair is None:
            yield row[at].text
        else:
            side, rest = pair
            yield from _values(grid, [Cell(text=rest, kind="words") if place == at else one for place, one in enumerate(row)], part, side)


def values_only(grid: Grid) -> Iterator[Reading | str]:
    for row, part in zip(grid.rows, grid.parts, strict=True):
        yield from _values(grid, row, part, grid.context.side)
