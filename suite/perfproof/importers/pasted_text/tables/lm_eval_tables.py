"""lm_eval's tables: a row a task, filter and metric, its value and its standard error; continued rows keep the task."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.importers.pasted_text.context.contexts import Context
from perfproof.importers.pasted_text.context.readings import Found, Reading, Score
from perfproof.importers.pasted_text.tables.shapes.table_shapes import Table
from perfproof.model.base import numerals
from perfproof.model.records.eval_items import Total
from perfproof.model.scenarios.eval_metrics import direction
from perfproof.model.scenarios.metrics import Better

ARROWS = {"↑": True, "↓": False}
"""How lm_eval's tables say whether higher is better."""
ASKED = {"Version": "task version", "n-shot": "shots"}
"""Columns that say what was asked."""
_NUMBER = re.compile(r"^-?[0-9]{1,30}(?:[.,][0-9]+)?(?:[eE][-+]?[0-9]{1,2})?$")


def is_scores(table: Table) -> bool:
    """Whether a table is one of lm_eval's."""
    return {"Metric", "Value"} <= set(table.rows[0]) and bool({"Tasks", "Groups", "Filter", "Stderr"} & set(table.rows[0]))


def read(table: Table, context: Context, side: str, by: numerals.Convention) -> Found:
    """The scores of a table, all of one side."""
    found, task = Found(), ""
    columns = table.rows[0]
    for cells in table.rows[1:]:
        if any(_NUMBER.match(each) for each in cells):
            one = _total(cells, columns, side, task, by)
            if isinstance(one, Total):
                found.scores.append(Score(total=one, context=context))
            elif one:
                found.readings.append(_without_error(*one, table, context, side))
            row = dict(zip(columns, cells, strict=False))
            task = row.get("Tasks") or row.get("Groups") or task
    return found


def _without_error(name: str, digits: str, better: Better | None, table: Table, context: Context, side: str) -> Reading:
    """A score of which no standard error is known: a number like others."""
    arrow = next((sign for sign, higher in ARROWS.items() if better == ("higher" if higher else "lower")), "")
    return Reading(
        side=side,
        context=context,
        label=name,
        measure=f"{name} {arrow}",
        digits=digits,
        place=table.number,
        number=table.number,
        kind="score",
    )


def _total(
    cells: Sequence[str], columns: Sequence[str], side: str, task: str, by: numerals.Convention
) -> Total | tuple[str, str, Better | None] | None:
    """A row; of one without a standard error its name, its digits and its direction; None for one without a score.

    An arrow that a paste lost moves cells, so the value is the first number after the metric.
    """
    row = dict(zip(columns, cells, strict=False))
    name = (row.get("Tasks") or row.get("Groups") or task).lstrip("- ")
    metric = row.get("Metric", "")
    place = columns.index("Metric") + 1
    numbers = [each for each in cells[place:] if _NUMBER.match(each)]
    if not name or not metric or not numbers:
        return None
    better = direction(metric, next((ARROWS[each] for each in cells[place:] if each in ARROWS), None))
    which = row.get("Filter") or "none"
    if len(numbers) < 2:
        return ", ".join(part for part in (name, "" if which == "none" else which, metric) if part), numbers[0], better
    value, error = (numerals.value(number, by) for number in numbers[:2])
    asked = {what: row[column] for column, what in ASKED.items() if row.get(column)}
    return Total(side=side, task=name, filter=which, metric=metric, value=value, error=error, better=better, asked=asked)
