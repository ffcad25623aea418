"""A table's numbers with their sides: sides as columns, as rows, in one cell, or named by the heading above."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.cells import DIGITS, Cell, bare, cell, unit_of
from perfproof.importers.pasted_text.headings import Context
from perfproof.importers.pasted_text.readings import Found, Reading
from perfproof.importers.pasted_text.tables import grouped_heads, headless_table, table_columns
from perfproof.importers.pasted_text.tables.side_columns import columns_of_sides
from perfproof.importers.pasted_text.tables.side_rows import rows_of_sides, sides_in_labels, values_only
from perfproof.importers.pasted_text.tables.table_columns import Column
from perfproof.importers.pasted_text.tables.table_grid import Grid, reading
from perfproof.importers.pasted_text.tables.table_shapes import Table
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better
from perfproof.model.scenarios.side_names import commit, release, role

_SIDE_AND_NUMBER = re.compile(
    rf"(?P<side>[A-Za-z][\w ()#./+-]{{0,30}}?)\s*[:=]?\s*(?P<digits>{DIGITS})(?:\s?(?P<unit>ns|us|µs|ms|s|sec|min|%|[KMGTk]i?B"
    rf"|\w+/\w+))?(?=[\s,;|/)]|$)"
)
NAMED_ROWS = 3
"""How many rows of a table without sides are named."""


def read(table: Table, context: Context, place: int) -> Found:
    """What a table says, below a context; `place` is the item's."""
    width = max(len(row) for row in table.rows)
    rows = [(*row, *[""] * (width - len(row))) for row in table.rows]
    first = [cell(text) for text in rows[0]]
    headed = table.ruled or not any(
        each.kind in ("value", "change") and not (role(each.text) and not known(each.unit)) for each in first[1:]
    )
    head, body = (rows[0], rows[1:]) if headed else ((), rows)
    if table.heads > 1:
        head, body = grouped_heads.joined(rows[: table.heads]), rows[table.heads :]
    if headed and not body:
        return Found()
    if headed and table.heads == 1 and (odd := _unnamed_columns(table)):
        return Found(faults=[odd])
    if not headed:
        return headless_table.read(body, context, table.number, place)
    names, filled = _two_lines(head, body) if table.heads == 1 else (head, body)
    typed = [tuple(cell(text) for text in row) for row in filled]
    parts, typed = _parts(_filled(typed))
    if not typed:
        return Found()
    names = tuple(bare(name) for name in names)
    columns = table_columns.columns(names, typed)
    grid = Grid(head=names, columns=columns, rows=tuple(typed), parts=tuple(parts), context=context, number=table.number, place=place)
    return _grid(grid)


def _grid(grid: Grid) -> Found:
    if any(column.kind == "side" for column in grid.columns):
        found = _collected(grid, columns_of_sides(grid))
        if not found.readings and any(release(one.text) is not None for row in grid.rows for one in row):
            found.sideless.append(f"the table in line {grid.number} holds versions of software, which are no measurements")
        return found
    if not grid.context.side and (inside := list(_sides_in_cells(grid))):
        return _collected(grid, iter(inside))
    if shared := sides_in_labels(grid):
        return _collected(grid, shared)
    side = table_columns.side_column(grid.columns, grid.rows)
    if side is not None:
        columns = [replace(column, kind="side") if at == side else column for at, column in enumerate(grid.columns)]
        grid = replace(grid, columns=_without_versions(columns, grid))
        return _collected(grid, rows_of_sides(grid, side))
    if any(one.kind == "change" for row in grid.rows for one in row):
        return _collected(grid, columns_of_sides(grid))
    if not grid.context.side and role(grid.head[0]) and grid.head[1:] == ("",):
        grid = replace(grid, context=replace(grid.context, side=grid.head[0]), head=("", ""))
    found = _collected(grid, values_only(grid))
    if not grid.context.side:
        return Found(left_out=found.left_out, sideless=[_sideless(grid)] if found.readings else [])
    return found


def _sides_in_cells(grid: Grid) -> Iterator[Reading]:
    """The numbers of cells that name both sides: "before: 12.1 ms, after: 11 ms", "main 100, PR 104"."""
    for row, part in zip(grid.rows, grid.parts, strict=True):
        label = row[0].text
        for column, one in zip(grid.columns, row, strict=True):
            found = [(each["side"].strip(" :=(-"), each) for each in _SIDE_AND_NUMBER.finditer(one.text)] if one.kind == "words" else []
            if {role(side) for side, _ in found} != {"baseline", "candidate"}:
                continue
            for side, each in found:
                unit = each["unit"] if each["unit"] and known(each["unit"]) else unit_of(column.name)
                name = column.name if better(column.name) or unit_of(column.name) else ""
                yield reading(
                    grid,
                    part,
                    side=side,
                    label=", ".join(text for text in (name, label) if text) or "value",
                    measure=name or label,
                    digits=each["digits"],
                    unit=unit,
                    named="",
                )


def _tells_of_side(text: str) -> bool:
    """Whether a cell is a version, a commit or a day: of a side, and no case of its own."""
    return release(text) is not None or commit(text) or bool(re.fullmatch(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", text))


def _without_versions(columns: Sequence[Column], grid: Grid) -> list[Column]:
    """The columns; versions of software, and plain numbers of no metric beside them, only tell of the sides."""
    versions = {
        at
        for at, column in enumerate(columns)
        if column.kind in ("label", "key") and grid.rows and all(_tells_of_side(row[at].text) for row in grid.rows)
    }
    plain = {at for at, column in enumerate(columns) if column.kind == "metric" and not column.unit and better(column.name) is None}
    return [replace(column, kind="claim") if at in versions or (versions and at in plain) else column for at, column in enumerate(columns)]


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
    sided = sum(bool(role(bare(text))) or release(bare(text)) is not None for text in head[1:])
    named = sum(bool(role(each.text)) or (sided < 2 and release(each.text) is not None) for each in below[1:])
    numbers = any(each.kind in ("value", "change") and release(each.text) is None for each in below[1:])
    grouped = not any(head[1:].count(text) > 1 for text in head[1:] if text) and "" in head[1:]
    under = sum(table_columns.statistic(each.text) or bool(better(each.text)) for each in below[1:])
    if len(words) < 2 or numbers or (named < 2 and not (grouped and (sided >= 2 or under >= 2))):
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


def _collected(grid: Grid, readings: Iterator[Reading | str]) -> Found:
    found = Found()
    for each in readings:
        (found.left_out if isinstance(each, str) else found.readings).append(each)  # type: ignore[arg-type]
    spreads = [f"± of {name or 'a column without a name'}" for at, name in enumerate(grid.head) if any(row[at].spread for row in grid.rows)]
    claimed = [column.name or "a column without a name" for column in grid.columns if column.kind == "claim"]
    found.left_out += list(dict.fromkeys([*claimed, *spreads])) if found.readings else []
    return found


def _sideless(grid: Grid) -> str:
    names = [name for name in grid.head if name][: NAMED_ROWS + 2]
    return f"the table in line {grid.number} ({', '.join(names)}): no column, row or heading names a side"
