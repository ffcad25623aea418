"""A table whose cells are typed, and what its rows and columns say of a number in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perfproof.importers.pasted_text.context.contexts import Context
from perfproof.importers.pasted_text.context.readings import Reading
from perfproof.importers.pasted_text.words.cells import Cell
from perfproof.importers.pasted_text.words.column_names import Column, statistic
from perfproof.importers.pasted_text.words.run_numbers import RUN, run_of
from perfproof.model.base.quantities import scale
from perfproof.model.scenarios.metric_directions import better


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table whose cells are typed: head, columns, rows with the section inside the table that each stands in."""

    head: tuple[str, ...]
    columns: Sequence[Column]
    rows: tuple[tuple[Cell, ...], ...]
    parts: tuple[str, ...]
    context: Context
    number: int
    place: int


def labels(grid: Grid, row: Sequence[Cell]) -> list[tuple[str, bool]]:
    """What tells a row from others: its words, and its keys with their names; whether each is a key."""
    found = []
    for column, one in zip(grid.columns, row, strict=True):
        if column.kind == "label" and one.text and not RUN.fullmatch(one.text):
            found.append((one.text, False) if one.kind == "words" or not column.name else (f"{column.name} {one.text}", True))
        elif column.kind == "key" and one.text:
            found.append((f"{column.name} {one.text}".strip(), True))
    return found


def unit_in(grid: Grid, row: Sequence[Cell]) -> str:
    return next((one.text for column, one in zip(grid.columns, row, strict=True) if column.kind == "unit"), "")


def run_in(grid: Grid, row: Sequence[Cell]) -> str:
    """The number of the run that a row is of, "" for none: its own column's, its label's, that of the heading above."""
    own = next((one.text for column, one in zip(grid.columns, row, strict=True) if column.kind == "run"), "")
    words = [one.text for column, one in zip(grid.columns, row, strict=True) if column.kind == "label"]
    called = next((found for text in words if (found := RUN.fullmatch(text))), None)
    return own or (run_of(called) if called else "") or grid.context.run


def reading(grid: Grid, part: str, **told: str) -> Reading:
    """A number of the table, in the section that a row above names."""
    context = replace(grid.context, section=(*grid.context.section, part)) if part else grid.context
    return Reading(context=context, place=grid.place, number=grid.number, **told)  # type: ignore[arg-type]


def unit_of_labels(grid: Grid, metric: str) -> str:
    """The unit that the head of the rows' names has, "Name (time in us)", where a metric may be in it: OPS is in no time."""
    column = next((each for each in grid.columns if each.kind in ("label", "side") and not each.metric and each.unit), None)
    if column is None or (better(metric) == "higher" and scale(column.unit)[0].startswith("time")):
        return ""
    return column.unit if better(metric) or statistic(metric) or not metric or "time in" not in column.name else ""


def made_of_runs(grid: Grid, row: Sequence[Cell]) -> str:
    """What a row among runs was made of them: "mean", "" where it is a run, or no run at all."""
    return next(
        (one.text for column, one in zip(grid.columns, row, strict=True) if column.kind == "run" and one.text and not one.text.isdigit()),
        "",
    )
