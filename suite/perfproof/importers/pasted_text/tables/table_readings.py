"""A table's numbers with their sides: sides as columns, as rows, in one cell, or named by the heading above."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.clients.timing_blocks import apart
from perfproof.importers.pasted_text.context.contexts import Context
from perfproof.importers.pasted_text.context.readings import Found, Reading
from perfproof.importers.pasted_text.tables import cell_legends, claimed_changes, headless_table, table_columns
from perfproof.importers.pasted_text.tables.shapes import grouped_heads
from perfproof.importers.pasted_text.tables.shapes.table_shapes import Table
from perfproof.importers.pasted_text.tables.sides import side_labels, sides_elsewhere
from perfproof.importers.pasted_text.tables.sides.side_columns import columns_of_sides
from perfproof.importers.pasted_text.tables.sides.side_rows import rows_of_sides, sides_in_labels, values_only
from perfproof.importers.pasted_text.tables.table_grid import Grid, reading
from perfproof.importers.pasted_text.words.alternatives import told_apart
from perfproof.importers.pasted_text.words.cells import DIGITS, Cell, bare, cell, unit_of
from perfproof.importers.pasted_text.words.column_names import KEY, statistic
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better
from perfproof.model.scenarios.side_names import are_both_sides, release, role

_SIDE_AND_NUMBER = re.compile(
    rf"(?P<side>[A-Za-z][\w ()#./+-]{{0,30}}?)\s*[:=]?\s*(?P<digits>{DIGITS})(?:\s?(?P<unit>ns|us|µs|ms|s|sec|min|%|[KMGTk]i?B"
    rf"|\w+/\w+))?(?=[\s,;|/)]|$)"
)
NAMED_ROWS = 3
"""How many rows of a table without sides are named."""


def read(table: Table, context: Context, place: int, *, sided: bool = False, order: cell_legends.Order | None = None) -> Found:
    """What a table says, below a context; `place` is the item's. A `sided` one is of the side that the heading above it names; `order` is
    what the text says of the two numbers of a cell."""
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
    head, body = _without_index(head, body)
    rows = [each for row in body for each in _of_statistics(row)]
    names, filled = _parted(*(_two_lines(head, rows) if table.heads == 1 else (head, rows)))
    names = cell_legends.told(names, filled, order)
    typed = [tuple(cell(text) for text in row) for row in filled]
    parts, typed = _parts(_filled(names, typed))
    if not typed:
        return Found()
    hashed = sum(bool(_HASHED.match(bare(name))) for name in names) > 1
    plain = tuple(_HASHED.sub(r"run \g<run>", bare(name)) if hashed else bare(name) for name in names)
    columns = table_columns.columns(plain, typed, sided=sided)
    grid = Grid(head=plain, columns=columns, rows=tuple(typed), parts=tuple(parts), context=context, number=table.number, place=place)
    return _grid(grid, sided=sided)


def _grid(grid: Grid, *, sided: bool) -> Found:
    if any(column.kind == "side" for column in grid.columns):
        found = _or_versions(grid, _collected(grid, columns_of_sides(grid)))
        found.led = [led] if (led := claimed_changes.order(grid)) else []
        return found
    if not grid.context.side and (inside := list(_sides_in_cells(grid))):
        return _collected(grid, iter(inside))
    if shared := sides_in_labels(grid):
        return _collected(grid, shared)
    side = side_labels.side_column(grid.columns, grid.rows)
    if side is not None and not (sided and not sides_elsewhere.named([row[side].text for row in grid.rows])):
        columns = [replace(column, kind="side") if at == side else column for at, column in enumerate(grid.columns)]
        grid = replace(grid, columns=side_labels.beside_sides(columns, grid.rows, side))
        return _or_versions(grid, _collected(grid, rows_of_sides(grid, side)))
    if any(one.kind == "change" for row in grid.rows for one in row):
        return _collected(grid, columns_of_sides(grid))
    if not grid.context.side and (commands := _of_commands(grid)):
        return _grid(commands, sided=sided)
    if not grid.context.side and role(grid.head[0]) and grid.head[1:] == ("",):
        grid = replace(grid, context=replace(grid.context, side=grid.head[0]), head=("", ""))
    found = _collected(grid, values_only(grid))
    if not grid.context.side:
        return Found(left_out=found.left_out, sideless=[_sideless(grid)] if found.readings else [])
    return found


def _of_commands(grid: Grid) -> Grid | None:
    """hyperfine's table with what tells each command from the others in place of it, where that may be a side; None for any other."""
    names = [row[0].text for row in grid.rows]
    if grid.head[0].casefold() != "command" or len(set(names)) != len(names) or len(names) < 2:
        return None
    parts = [apart(name, names) for name in names]
    if parts == names or not all(map(told_apart, parts)):
        return None
    return replace(grid, rows=tuple((cell(part), *row[1:]) for part, row in zip(parts, grid.rows, strict=True)))


def _or_versions(grid: Grid, found: Found) -> Found:
    """What was found in a table of sides; where that is nothing and it holds versions, the reason."""
    if not found.readings and any(release(one.text) is not None for row in grid.rows for one in row):
        found.sideless.append(f"the table in line {grid.number} holds versions of software, which are no measurements")
    return found


def _sides_in_cells(grid: Grid) -> Iterator[Reading]:
    """The numbers of cells that name both sides: "before: 12.1 ms, after: 11 ms", "main 100, PR 104"."""
    for row, part in zip(grid.rows, grid.parts, strict=True):
        label = row[0].text
        for column, one in zip(grid.columns, row, strict=True):
            found = [(each["side"].strip(" :=(-"), each) for each in _SIDE_AND_NUMBER.finditer(one.text)] if one.kind == "words" else []
            if not are_both_sides(side for side, _ in found):
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


def _unnamed_columns(table: Table) -> str:
    """What is wrong with a table that has more cells in a row than names in its head, "" for nothing: whose they are can't be known."""
    named, *widths = [max((at for at, text in enumerate(row, 1) if text), default=0) for row in table.rows]
    most = max(widths, default=0)
    if table.cut:
        return f"the table in line {table.number} has a head that was cut: whose its numbers are can't be known"
    if most <= max(named, len(table.rows[0])):
        return ""
    return f"the table in line {table.number} has {most} cells in a row, and {named} names in its head: give each column a name"


def _without_index(head: tuple[str, ...], body: list[tuple[str, ...]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A table without the numbers that pandas gives its rows, where the next column names these."""
    if head[0] or len(head) < 3 or [row[0] for row in body] != [str(at) for at in range(len(body))]:
        return head, body
    named = head[1] and not (role(head[1]) or release(head[1]) is not None or better(head[1]) or unit_of(head[1]))
    return (head[1:], [row[1:] for row in body]) if named and len({row[1] for row in body}) == len(body) else (head, body)


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
    under = sum(statistic(each.text) or bool(better(each.text)) for each in below[1:])
    if len(words) < 2 or numbers or (named < 2 and not (grouped and (sided >= 2 or under >= 2))):
        return head, body
    above, upper = [], ""
    for at, text in enumerate(head):
        upper = bare(text) or (upper if at else "")
        above.append(upper)
    return [
        f"{under.text} {over}".strip() if at else under.text or over for at, (over, under) in enumerate(zip(above, below, strict=True))
    ], body[1:]


def _of_statistics(row: Sequence[str]) -> list[tuple[str, ...]]:
    """A row whose cells hold a number of each statistic that its label lists, "TTFT p50/p90/p99", as a row of each; else as it is."""
    found = _SEVERAL.search(bare(row[0])) if row else None
    names = re.split(r"\s*[/|]\s*", found[0]) if found else []
    if not found or not all(map(statistic, names)):
        return [tuple(row)]
    parts = [re.split(r"\s*[/|]\s*", bare(text)) for text in row[1:]]
    several = [part for part in parts if len(part) == len(names) and all(map(_NUMBERS.fullmatch, part))]
    if len(several) < 2 or any(len(part) > 1 and part not in several for part in parts):
        return [tuple(row)]
    return [
        (bare(row[0]).replace(found[0], name), *(part[at] if part in several else "" for part in parts)) for at, name in enumerate(names)
    ]


_HASHED = re.compile(r"^#(?P<run>[0-9]{1,2})$")
"""The number of a run as the name of a column."""
_NUMBERS = re.compile(rf"\s*{DIGITS}\s*[A-Za-z%]{{0,5}}\s*")


def _parted(head: Sequence[str], body: Sequence[Sequence[str]]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A table whose cells hold a number of each of several metrics that their head names, "TTFT/TPOT main (ms)", with a column of each."""
    names: list[str] = []
    rows: list[list[str]] = [[] for _ in body]
    for at, name in enumerate(head):
        found = _SEVERAL.search(bare(name))
        metrics = re.split(r"\s*[/|]\s*", found[0]) if found else []
        parts = [re.split(r"\s*[/|]\s*", bare(row[at])) for row in body]
        fits = metrics and all(better(each) or statistic(each) for each in metrics)
        if not fits or not all(len(each) == len(metrics) and all(map(_NUMBERS.fullmatch, each)) for each in parts):
            names.append(name)
            for row, own in zip(rows, body, strict=True):
                row.append(own[at])
            continue
        names += [bare(name).replace(found[0], each) for each in metrics] if found else []
        for row, part in zip(rows, parts, strict=True):
            row += part
    return names, rows


_SEVERAL = re.compile(r"[\w.%]+(?:\s*/\s*[\w.%]+)+")


_DITTO = frozenset({'"', "''", "″", "〃", "^", "ditto"})
"""Marks that say the same as the row above."""


def _filled(names: Sequence[str], rows: Sequence[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """The rows; empty cells at their beginning, as groups have them, and marks for the same, are those of the row above where the rows have
    further words, or a key."""
    found: list[tuple[Cell, ...]] = []
    for row in rows:
        above = found[-1] if found else row
        own = tuple(over if one.text.casefold() in _DITTO else one for over, one in zip(above, row, strict=True))
        first = next((at for at, one in enumerate(own) if one.text), 0)
        grouped = 0 < first < len(own) - 1 and above[0].text and _tells_apart(bare(names[first]), own[first])
        found.append((*above[:first], *own[first:]) if grouped else own)
    return found


def _tells_apart(name: str, one: Cell) -> bool:
    """Whether a cell below a name is no measurement: words, a key, or a size such as 8 or 1k/1k where the name is of no metric and no
    side."""
    neutral = better(name) is None and not unit_of(name) and not role(name) and release(name) is None
    size = re.fullmatch(r"[0-9]{1,6}[kK]?(?:\s?[/x×]\s?[0-9]{1,6}[kK]?)*", one.text)
    return one.kind == "words" or bool(KEY.match(name)) or bool(size and neutral)


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
