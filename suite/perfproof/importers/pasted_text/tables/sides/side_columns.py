"""Sides in columns, or both in one cell: each number under its side, called by its row and by what its column measures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from perfproof.importers.pasted_text.context.readings import Reading
from perfproof.importers.pasted_text.tables.captions import above, without_conditions
from perfproof.importers.pasted_text.tables.cell_lists import named as named_in
from perfproof.importers.pasted_text.tables.table_grid import Grid, labels, made_of_runs, reading, run_in, unit_in, unit_of_labels
from perfproof.importers.pasted_text.values.named_values import arrowed
from perfproof.importers.pasted_text.words.cells import Cell, unit_of
from perfproof.importers.pasted_text.words.column_names import Column, statistic
from perfproof.importers.pasted_text.words.run_means import is_mean
from perfproof.model.base.quantities import known, scale
from perfproof.model.scenarios.metric_directions import STATISTICS, better
from perfproof.model.scenarios.side_names import describes, release


def columns_of_sides(grid: Grid) -> Iterator[Reading | str]:
    """The numbers of either side, row by row; what only tells of the sides, and versions of software, by name."""
    versions = any(release(one.text) is not None for row in grid.rows for one in _of_sides(grid, row))
    for row, part in zip(grid.rows, grid.parts, strict=True):
        made = made_of_runs(grid, row)
        if made and not is_mean(made):
            yield f"{made} of the runs"
            continue
        words = labels(grid, row)
        named = " ".join(text for text, is_key in words if not is_key)
        if _SETTING.match(named) and not any(known(one.unit) for one in _of_sides(grid, row)) and not (better(named) or unit_of(named)):
            yield f"{named}: a setting"
            continue
        measured = any(known(one.unit) and one.unit != "%" for one in _of_sides(grid, row)) or "/" in unit_of(named)
        if (_tells([text for text, is_key in words if not is_key]) and not measured) or (versions and _of_software(grid, row)):
            yield ", ".join(text for text, _ in words)
            continue
        for column, one in zip(grid.columns, row, strict=True):
            if column.kind == "side" or one.kind == "change":
                yield from _of_side(grid, row, part, column, one)


_SETTING = re.compile(r"^(?:--?[a-z][\w-]*|[A-Z][A-Z0-9]*_[A-Z0-9_]+|[a-z][\w.]*\.[a-z_]+)(?: \(\w+\))?$")
"""The name of a flag, of a variable or of a key: its number was set, not measured."""


def _of_sides(grid: Grid, row: Sequence[Cell]) -> list[Cell]:
    return [one for column, one in zip(grid.columns, row, strict=True) if column.kind == "side"]


def _of_software(grid: Grid, row: Sequence[Cell]) -> bool:
    """Whether a row beside versions such as 2.8.0 holds versions too: plain numbers of no known metric, such as 3.4 and 12.8."""
    label = " ".join(text for text, _ in labels(grid, row))
    plain = all(not one.unit for one in _of_sides(grid, row))
    return plain and better(label) is None and not unit_of(label) and not unit_in(grid, row)


def _of_side(grid: Grid, row: Sequence[Cell], part: str, column: Column, one: Cell) -> Iterator[Reading | str]:
    label, measure, named = _label(grid, row, column)
    if one.kind == "change" or (one.kind == "versus" and " → " in column.side):
        texts = (label, grid.context.side, *grid.context.section, *grid.context.weak)
        said = next((sides for text in texts if (sides := arrowed(text))), ("before", "after"))
        names = column.side.split(" → ") if " → " in column.side else said
        if " → " not in column.side and column.kind != "side" and column.name and not column.metric and not better(label):
            label = f"{label}, {column.name}" if label else column.name
        for side, digits, unit in zip(names, (one.before, one.digits), (one.first_unit, one.unit), strict=True):
            yield reading(
                grid,
                part,
                side=side,
                label=label,
                measure=measure,
                digits=digits,
                unit=unit or column.unit or unit_in(grid, row),
                named=named,
            )
    elif one.kind == "versus" and known(one.unit) and known(one.first_unit) and scale(one.unit)[0] != scale(one.first_unit)[0]:
        for digits, unit in ((one.before, one.first_unit), (one.digits, one.unit)):
            own = f"{label}, {unit}" if label else unit
            yield reading(grid, part, side=column.side, label=own, measure=label, digits=digits, unit=unit, named="")
    elif one.kind == "value":
        unit = one.unit or column.unit or unit_in(grid, row)
        yield reading(
            grid,
            part,
            side=column.side,
            label=label,
            measure=measure,
            digits=one.digits,
            unit=unit,
            named=named,
            run="" if made_of_runs(grid, row) else column.run or run_in(grid, row),
            made=made_of_runs(grid, row),
        )
    elif values := named_in(one.text):
        for value in values:
            own = ", ".join(part for part in (value.name, label) if part)
            yield reading(grid, part, side=column.side, label=own, measure=value.name, digits=value.digits, unit=value.unit, named="")
    elif one.text or one.kind == "missing":
        yield f"{label} of {column.side}: {one.text or 'nothing'}" if one.kind == "missing" else f"{label}: {one.text}"


def _label(grid: Grid, row: Sequence[Cell], column: Column) -> tuple[str, str, str]:
    """What a cell's number is called, what decides its direction, and the unit that its name has."""
    words = labels(grid, row)
    named = [text for text, is_key in words if not is_key]
    ways = [column.metric, *named] if column.metric else named
    measure = next((text for text in ways if better(text)), "") or next((text for text in ways if unit_of(text)), "") or column.metric
    rest = [text for text in (column.metric, *(text for text, _ in words)) if text and text != measure]
    caption = above(grid.context)
    head = next((name for name, each in zip(grid.head, grid.columns, strict=True) if each.kind == "label" and better(name)), "")
    called = without_conditions(caption.label) if not measure and better(caption.label) else ""
    called = head if head and named and all(map(statistic, named)) and not column.metric else called
    label = ", ".join(part for part in dict.fromkeys((called, measure, *rest)) if part) or caption.label or "value"
    of_caption = caption.decides if not measure or (better(caption.decides) and not unit_of(measure)) else ""
    decides = measure if better(measure) else head or of_caption or measure or label
    unit = unit_of(measure) or unit_of_labels(grid, measure)
    return label, decides, unit or ("" if measure else caption.unit)


def _tells(labels: Sequence[str]) -> bool:
    """Whether a row is no metric but of what is said about the sides: "runs", "p-value", "speedup"."""
    label = " ".join(labels)
    words = [word for word in re.split(r"[\s_]+", label) if word.lower() not in STATISTICS and not ("_" in label and known(word))]
    return better(label) is None and bool(re.search(r"[^\W\d_]", " ".join(words))) and describes(" ".join(words))
