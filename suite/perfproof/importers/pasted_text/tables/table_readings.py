"""A table's numbers with their sides: sides as columns, as rows, in one cell, or named by the heading above."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from perfproof.importers.pasted_text.cells import Cell, bare, cell, unit_of
from perfproof.importers.pasted_text.headings import RUN, Context
from perfproof.importers.pasted_text.named_values import arrowed
from perfproof.importers.pasted_text.readings import Found, Reading
from perfproof.importers.pasted_text.tables import headless_table, table_columns
from perfproof.importers.pasted_text.tables.table_columns import Column
from perfproof.importers.pasted_text.tables.table_shapes import Table
from perfproof.model.scenarios.metric_directions import STATISTICS, better
from perfproof.model.scenarios.side_names import describes, release, role, split

NAMED_ROWS = 3
"""How many rows of a table without sides are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """A table whose cells are typed: head, columns, rows with the section inside the table that each stands in."""

    head: tuple[str, ...]
    columns: Sequence[Column]
    rows: tuple[tuple[Cell, ...], ...]
    parts: tuple[str, ...]
    context: Context
    number: int
    place: int


def read(table: Table, context: Context, place: int) -> Found:
    """What a table says, below a context; `place` is the item's."""
    width = max(len(row) for row in table.rows)
    rows = [(*row, *[""] * (width - len(row))) for row in table.rows]
    first = [cell(text) for text in rows[0]]
    headed = table.ruled or not any(each.kind in ("value", "change") for each in first[1:])
    head, body = (rows[0], rows[1:]) if headed else ((), rows)
    if headed and not body:
        return Found()
    if headed and (odd := _unnamed_columns(table)):
        return Found(faults=[odd])
    if not headed:
        return headless_table.read(body, context, table.number, place)
    names, filled = _two_lines(head, body)
    typed = [tuple(cell(text) for text in row) for row in filled]
    parts, typed = _parts(_filled(typed))
    if not typed:
        return Found()
    names = tuple(bare(name) for name in names)
    columns = table_columns.columns(names, typed)
    grid = _Grid(head=names, columns=columns, rows=tuple(typed), parts=tuple(parts), context=context, number=table.number, place=place)
    return _grid(grid)


def _grid(grid: _Grid) -> Found:
    if any(column.kind == "side" for column in grid.columns):
        return _collected(grid, _columns_of_sides(grid))
    if shared := _sides_in_labels(grid):
        return _collected(grid, shared)
    side = table_columns.side_column(grid.columns, grid.rows)
    if side is not None:
        columns = [replace(column, kind="side") if at == side else column for at, column in enumerate(grid.columns)]
        return _collected(grid, _rows_of_sides(replace(grid, columns=columns), side))
    if any(one.kind == "change" for row in grid.rows for one in row):
        return _collected(grid, _columns_of_sides(grid))
    found = _collected(grid, _values_only(grid))
    if not grid.context.side:
        return Found(left_out=found.left_out, sideless=[_sideless(grid)] if found.readings else [])
    return found


def _unnamed_columns(table: Table) -> str:
    """What is wrong with a table that has more cells in a row than names in its head, "" for nothing: whose they are can't be known."""
    named, *widths = [max((at for at, text in enumerate(row, 1) if text), default=0) for row in table.rows]
    most = max(widths, default=0)
    if table.cut:
        return f"the table in line {table.number} has a head that was cut: whose its numbers are can't be known"
    if most <= max(named, len(table.rows[0])):
        return ""
    return f"the table in line {table.number} has {most} cells in a row, and {named} names in its head: give each column a name"


def _two_lines(head: Sequence[str], body: Sequence[Sequence[str]]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A head whose second line stands in the first row: metrics above, sides below; cells of the first that are empty go on."""
    if len(body) < 2:
        return head, body
    below = [cell(text) for text in body[0]]
    words = [each for each in below if each.kind not in ("missing",)]
    named = sum(bool(role(each.text)) or release(each.text) is not None for each in below[1:])
    sided = sum(bool(role(bare(text))) or release(bare(text)) is not None for text in head[1:])
    numbers = any(each.kind in ("value", "change") and release(each.text) is None for each in below[1:])
    if len(words) < 2 or numbers or (named < 2 and (sided < 2 or "" not in head[1:])):
        return head, body
    above, upper = [], ""
    for at, text in enumerate(head):
        upper = bare(text) or (upper if at else "")
        above.append(upper)
    return [
        f"{under.text} {over}".strip() if at else under.text or over for at, (over, under) in enumerate(zip(above, below, strict=True))
    ], body[1:]


def _filled(rows: Sequence[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """The rows; an empty first cell, as groups have it, is that of the row above where the rows have further words."""
    found: list[tuple[Cell, ...]] = []
    for row in rows:
        grouped = found and not row[0].text and len(row) > 2 and any(one.kind == "words" for one in row[1:2]) and found[-1][0].text
        found.append((found[-1][0], *row[1:]) if grouped else row)
    return found


def _parts(rows: Sequence[tuple[Cell, ...]]) -> tuple[list[str], list[tuple[Cell, ...]]]:
    """The rows with values, and for each the section that a row of words alone names above it."""
    part, parts, found = "", [], []
    for row in rows:
        filled = [one for one in row if one.text]
        if len(filled) == 1 and filled[0].kind == "words" and len(row) > 2 and not row[0].numbered and row[0].text:
            part = row[0].text
        elif filled:
            parts.append(part)
            found.append(row)
    return parts, found


def _collected(grid: _Grid, readings: Iterator[Reading | str]) -> Found:
    found = Found()
    for each in readings:
        (found.left_out if isinstance(each, str) else found.readings).append(each)  # type: ignore[arg-type]
    claimed = [column.name or "a column without a name" for column in grid.columns if column.kind == "claim"]
    found.left_out += list(dict.fromkeys(claimed)) if found.readings else []
    return found


# --- sides in columns ---------------------------------------------------------------------------------------------


def _columns_of_sides(grid: _Grid) -> Iterator[Reading | str]:
    for row, part in zip(grid.rows, grid.parts, strict=True):
        words = _labels(grid, row)
        if _tells([text for text, is_key in words if not is_key]):
            yield ", ".join(text for text, _ in words)
            continue
        for column, one in zip(grid.columns, row, strict=True):
            if column.kind == "side" or one.kind == "change":
                yield from _of_side(grid, row, part, column, one)


def _of_side(grid: _Grid, row: Sequence[Cell], part: str, column: Column, one: Cell) -> Iterator[Reading | str]:
    label, measure, named = _label(grid, row, column)
    if one.kind == "change" or (one.kind == "versus" and " → " in column.side):
        above = (label, grid.context.side, *grid.context.section, *grid.context.weak)
        said = next((sides for text in above if (sides := arrowed(text))), ("before", "after"))
        names = column.side.split(" → ") if " → " in column.side else said
        if " → " not in column.side and column.kind != "side" and column.name and not column.metric and not better(label):
            label = f"{label}, {column.name}" if label else column.name
        for side, digits, unit in zip(names, (one.before, one.digits), (one.first_unit, one.unit), strict=True):
            yield _reading(
                grid,
                part,
                side=side,
                label=label,
                measure=measure,
                digits=digits,
                unit=unit or column.unit or _unit(grid, row),
                named=named,
            )
    elif one.kind == "value":
        unit = one.unit or column.unit or _unit(grid, row)
        yield _reading(
            grid, part, side=column.side, label=label, measure=measure, digits=one.digits, unit=unit, named=named, run=_run(grid, row)
        )
    elif one.text or one.kind == "missing":
        yield f"{label} of {column.side}: {one.text or 'nothing'}" if one.kind == "missing" else f"{label}: {one.text}"


def _label(grid: _Grid, row: Sequence[Cell], column: Column) -> tuple[str, str, str]:
    """What a cell's number is called, what decides its direction, and the unit that its name has."""
    words = _labels(grid, row)
    named = [text for text, is_key in words if not is_key]
    ways = [column.metric, *named] if column.metric else named
    measure = next((text for text in ways if better(text)), "") or next((text for text in ways if unit_of(text)), "") or column.metric
    rest = [text for text in (column.metric, *(text for text, _ in words)) if text and text != measure]
    above = [*grid.context.section, *grid.context.weak]
    above = [grid.context.caption, *above]
    caption = next((text for text in reversed(above) if better(text) or (not measure and unit_of(text))), "")
    head = next((name for name, each in zip(grid.head, grid.columns, strict=True) if each.kind == "label" and better(name)), "")
    label = ", ".join(part for part in (measure, *rest) if part) or caption or "value"
    decides = measure if better(measure) else head or caption or measure or label
    unit = unit_of(measure)
    if not unit and decides == measure:
        unit = ""
    if not unit and not measure:
        unit = next((each.unit for each in grid.columns if each.kind == "label" and each.unit), "") or unit_of(caption)
    elif not unit:
        unit = next((each.unit for each in grid.columns if each.kind == "label" and each.unit), "")
    return label, decides, unit


def _labels(grid: _Grid, row: Sequence[Cell]) -> list[tuple[str, bool]]:
    """What tells a row from others: its words, and its keys with their names; whether each is a key."""
    found = []
    for column, one in zip(grid.columns, row, strict=True):
        if column.kind == "label" and one.text:
            found.append((one.text, False) if one.kind == "words" or not column.name else (f"{column.name} {one.text}", True))
        elif column.kind == "key" and one.text:
            found.append((f"{column.name} {one.text}".strip(), True))
    return found


def _tells(labels: Sequence[str]) -> bool:
    """Whether a row is no metric but of what is told about the sides: "runs", "p-value", "speedup"."""
    label = " ".join(labels)
    words = [word for word in label.split() if word.lower() not in STATISTICS]
    return better(label) is None and bool(re.search(r"[^\W\d_]", " ".join(words))) and describes(" ".join(words))


def _unit(grid: _Grid, row: Sequence[Cell]) -> str:
    return next((one.text for column, one in zip(grid.columns, row, strict=True) if column.kind == "unit"), "")


def _run(grid: _Grid, row: Sequence[Cell]) -> str:
    return next((one.text for column, one in zip(grid.columns, row, strict=True) if column.kind == "run"), "") or grid.context.run


def _reading(grid: _Grid, part: str, **told: str) -> Reading:
    """A number of the table, in the section that a row above names."""
    context = replace(grid.context, section=(*grid.context.section, part)) if part else grid.context
    return Reading(context=context, place=grid.place, number=grid.number, **told)  # type: ignore[arg-type]


# --- sides in rows ------------------------------------------------------------------------------------------------


def _rows_of_sides(grid: _Grid, at: int) -> Iterator[Reading | str]:
    for row, part in zip(grid.rows, grid.parts, strict=True):
        side, run = _with_run(row[at].text)
        if side:
            yield from _values(grid, row, part, table_columns.without_unit(side), run, unit_of(side))


def _with_run(name: str) -> tuple[str, str]:
    """A side's name without the number of its run, and that."""
    found = RUN.search(name)
    return (name[: found.start()].strip(" ,:(-–—"), found["number"] or found["ordinal"]) if found else (name, "")


def _values(grid: _Grid, row: Sequence[Cell], part: str, side: str, run: str = "", of_row: str = "") -> Iterator[Reading | str]:
    """The numbers of a row that is of one side, each under its column's metric."""
    words = _labels(grid, row)
    for column, one in zip(grid.columns, row, strict=True):
        if column.kind != "metric":
            continue
        rest = [text for text, _ in words]
        numbered = RUN.fullmatch(column.metric)
        metric = "" if numbered else column.metric
        own = next((text for text in rest if better(text)), "") if not better(metric) else ""
        label = ", ".join(text for text in ((own, *(text for text in rest if text != own), metric) if own else (metric, *rest)) if text)
        measure = own or metric or label
        if one.kind == "value":
            unit = one.unit or _unit(grid, row) or of_row
            named = (
                unit_of(own)
                or column.unit
                or next((each.unit for each in grid.columns if each.kind in ("label", "side") and each.unit), "")
            )
            run = numbered["number"] or numbered["ordinal"] if numbered else run
            yield _reading(
                grid,
                part,
                side=side,
                label=label or "value",
                measure=measure,
                digits=one.digits,
                unit=unit,
                named=named,
                run=run or _run(grid, row),
                kind="column",
            )
        elif one.text:
            yield f"{label} of {side}: {one.text}" if side else f"{label}: {one.text}"


def _sides_in_labels(grid: _Grid) -> Iterator[Reading | str] | None:
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
    if not shared or sum(pair is not None for pair in found) < 2:
        return None
    return _in_labels(grid, at, found)


def _in_labels(grid: _Grid, at: int, found: Sequence[tuple[str, str] | None]) -> Iterator[Reading | str]:
    for row, part, pair in zip(grid.rows, grid.parts, found, strict=True):
        if pair is None:
            yield row[at].text
        else:
            side, rest = pair
            yield from _values(grid, [Cell(text=rest, kind="words") if place == at else one for place, one in enumerate(row)], part, side)


# --- sides in headings, or nowhere --------------------------------------------------------------------------------


def _values_only(grid: _Grid) -> Iterator[Reading | str]:
    for row, part in zip(grid.rows, grid.parts, strict=True):
        yield from _values(grid, row, part, grid.context.side)


def _sideless(grid: _Grid) -> str:
    names = [name for name in grid.head if name][: NAMED_ROWS + 2]
    return f"the table in line {grid.number} ({', '.join(names)}): no column, row or heading names a side"
