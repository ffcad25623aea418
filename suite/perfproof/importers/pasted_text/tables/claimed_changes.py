"""What the changes that a table itself gives say of its sides: +5.6 % beside 22.87 and 24.15 leads from the first to the second."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perfproof.importers.pasted_text.tables.table_grid import Grid
from perfproof.importers.pasted_text.words.cells import is_digits
from perfproof.model.base import numerals

_CHANGE = re.compile(r"^[(\[]?\s*(?P<change>[-+]?\s?[0-9][0-9.,]*)\s?(?:%|percent)")
SIDES = 2
ROUNDED = 0.06
"""By how many hundredths a change may be off that is given with one figure behind the point; one without is off by ten times as much."""


def order(grid: Grid) -> tuple[str, str] | None:
    """The two sides of a table in the order that every change in it has; None where one has none, or the other order fits too."""
    sides = [place for place, column in enumerate(grid.columns) if column.kind == "side"]
    names = [grid.columns[place].side for place in sides]
    claims = [place for place, column in enumerate(grid.columns) if column.kind == "claim"]
    if len(sides) != SIDES or len(claims) != 1:
        return None
    rows = list(_changes(grid, sides, claims[0]))
    ways = [
        all(_fits(before, after, told) for before, after, told in rows),
        all(_fits(after, before, told) for before, after, told in rows),
    ]
    if not rows or ways[0] == ways[1]:
        return None
    return (names[0], names[1]) if ways[0] else (names[1], names[0])


def _changes(grid: Grid, sides: list[int], claim: int) -> Iterator[tuple[float, float, str]]:
    """The values of either side and the change in per cent, as it is written, of each row that has all three."""
    for row in grid.rows:
        told = _CHANGE.match(row[claim].text)
        digits = [row[place].digits for place in sides]
        if told and all(map(is_digits, digits)):
            before, after = (numerals.value(each, "") for each in digits)
            yield before, after, told["change"].replace(" ", "").replace(",", ".")


def _fits(before: float, after: float, told: str) -> bool:
    if not before or not is_digits(told):
        return False
    room = ROUNDED if "." in told else 10 * ROUNDED
    return abs(100 * (after - before) / before - float(told)) <= room
