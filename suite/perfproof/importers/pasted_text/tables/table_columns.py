"""What each column of a table is: the values of a side, a metric, a key, a unit, the number of a run, or a claim about the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.tables.sides import sides_elsewhere
from perfproof.importers.pasted_text.tables.sides.sided_columns import with_sides
from perfproof.importers.pasted_text.words.cells import Cell, unit_of
from perfproof.importers.pasted_text.words.column_names import (
    KEY,
    PLAIN_VALUE,
    SPREAD,
    Body,
    Column,
    claims_of_sides,
    is_whole,
    statistic,
    unbracketed,
)
from perfproof.importers.pasted_text.words.run_means import is_mean
from perfproof.importers.pasted_text.words.run_numbers import RUN
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better, better_in
from perfproof.model.scenarios.side_names import role

_RUN = re.compile(
    r"(?i)^#?(?:run|trial|rep|repeat|repetition|iteration|iter|seed|attempt|lauf|durchlauf|essai)\s*(?:#|no\.?|nr\.?|id|number|index)?$"
    r"|^(?:轮次|次数|运行|回|次|轮)$"
)
_UNITS = re.compile(r"(?i)^units?$")
_SUREKEY = re.compile(
    r"(?i)^(?:size|model size|params|parameters|ngl|fa|mmap|nkvo|tp|pp|dp|ep|bs|isl|osl|batch|batch[ _-]?size|concurrency"
    r"|max[ _-]concurrency|num[ _-]prompts|(?:input|output)[ _-]len(?:gth)?)$"
)
_LOAD = re.compile(r"(?i)^(?:(?:target|request|max|input|offered)[ _-])?(?:qps|rps|rate)\b")
"""Names of metrics that are keys where their numbers are whole: what was asked of a run."""


def columns(head: Sequence[str], body: Body, *, sided: bool = False) -> list[Column]:
    """The columns of a table; of one that is `sided`, as the heading above it names its side, they are sides where they name both."""
    found = [_column(name, [row[place] for row in body], place) for place, name in enumerate(head)]
    found = [_measured(found[0], [row[0] for row in body], found[1:]), *found[1:]]
    by_side = with_sides(found, body)
    if by_side and (sides_elsewhere.named([each.side for each in by_side]) or not (sided or sides_elsewhere.in_rows(found, body))):
        return by_side
    counted = sum(bool(RUN.fullmatch(column.name)) for column in found) > 1
    means = {column.name for column in found if counted and is_mean(column.name)}
    return [
        replace(column, kind="metric", metric=column.name, unit=unit_of(column.name))
        if column.name in means
        else replace(column, kind="claim")
        if counted and statistic(column.name)
        else replace(column, kind="metric")
        if column.kind == "unclear"
        else column
        for column in found
    ]


def _column(name: str, cells: Sequence[Cell], place: int) -> Column:
    """A column by itself, whatever the others are."""
    kinds = Counter(cell.kind for cell in cells)
    numbers, unit = kinds["value"] + kinds["change"] + kinds["versus"], unit_of(name)
    if _UNITS.match(name):
        return Column(kind="unit", name=name)
    if _RUN.match(name) and numbers and all(re.fullmatch(r"[0-9]{1,4}", one.text) or _made(one.text) for one in cells):
        return Column(kind="run", name=name)
    if place and kinds["words"] == len(cells) and all(statistic(cell.text) for cell in cells):
        return Column(kind="label", name=name)
    if (
        (claims_of_sides(name) and (place or not (is_whole(cells) or KEY.match(name))))
        or (kinds["claim"] and not numbers)
        or SPREAD.match(name)
    ):
        return Column(kind="claim", name=name)
    if kinds["words"] > numbers or not numbers or (place == 0 and not (role(name) or better(name) or unit)):
        return Column(kind="label" if kinds["words"] or not is_whole(cells) else "key", name=name, unit=unit)
    key = unbracketed(name).removeprefix("# of ")
    may_be_key = KEY.match(key) and is_whole(cells) and (better_in(name, unit) is None or _LOAD.search(name))
    counted = re.match(r"(?i)(?:mean |avg )?concurrency", name) and any("." in cell.text for cell in cells)
    if (may_be_key or _SUREKEY.match(key)) and not counted and not role(name):
        return Column(kind="key", name=name)
    if better(name) or unit or statistic(name) or PLAIN_VALUE.match(name):
        return Column(kind="metric", name=name, metric="" if PLAIN_VALUE.match(name) else name, unit=unit)
    return Column(kind="unclear", name=name, metric=name)


def _measured(first: Column, cells: Sequence[Cell], others: Sequence[Column]) -> Column:
    """The first column; a metric where all of it has units, as profilers have it, and the names of the rows stand in another."""
    of_words = first.kind in ("label", "key") and any(each.kind == "label" for each in others)
    measures = of_words and cells and all(one.kind == "value" and known(one.unit) for one in cells)
    return replace(first, kind="metric", metric=first.name, unit=unit_of(first.name) or cells[0].unit) if measures else first


def _made(name: str) -> bool:
    """Whether a name is of what is made of runs."""
    return statistic(name) or is_mean(name)
