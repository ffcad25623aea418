"""A table without a head: of one side where a heading names it, else two numbers a row, the first side's first, which is a guess."""

from __future__ import annotations

from collections.abc import Sequence

from perfproof.importers.pasted_text.context.contexts import Context
from perfproof.importers.pasted_text.context.readings import Found, Reading, ordinal
from perfproof.importers.pasted_text.words.cells import Cell, cell, unit_of


def read(rows: Sequence[Sequence[str]], context: Context, number: int, place: int) -> Found:
    """A table without a head: of one side where a heading names it, else with two numbers a row, the first side's first."""
    found = Found()
    for row in rows:
        cells = [cell(text) for text in row]
        values = [one for one in cells[1:] if one.kind == "value" and not (one.unit == "%" and one.digits[0] in "+-")]
        plain = [one for one in values if one.unit != "%"]
        values = plain if len(plain) > 1 else values
        label = cells[0].text
        if context.side and len(values) == 1:
            found.readings.append(_plain(label, context.side, values[0], context, number, place))
        elif len(values) > 2:
            found.faults.append(f"the row {label!r} has more than two numbers, and no head says whose they are")
        elif len(values) == 2 and not context.side:
            found.readings += [_plain(label, ordinal(at), one, context, number, place) for at, one in enumerate(values, 1)]
        elif len(values) == 1 and label and not context.side and any(one.text for one in cells[2:]):
            at = next(at for at, one in enumerate(cells[1:], 1) if one is values[0])
            found.readings.append(_plain(label, ordinal(at), values[0], context, number, place))
        found.left_out += [f"{label}: {one.text}" for one in cells[1:] if one.kind == "words" and one.numbered]
    if len({reading.side for reading in found.readings}) < 2 and not context.side:
        return Found(faults=found.faults)
    return found


def _plain(label: str, side: str, one: Cell, context: Context, number: int, place: int) -> Reading:
    return Reading(
        side=side,
        context=context,
        label=label,
        measure=label,
        digits=one.digits,
        unit=one.unit,
        named=unit_of(label),
        place=place,
        number=number,
    )
