"""Sides whose names hold a case too, "prefix caching on, main" and "prefix caching off, main": each with its case as a section."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.context.readings import Reading
from perfproof.model.scenarios.side_names import names_a_side, switched

_APART = re.compile(r",\s+|\s+[/|@]\s+")
LEAST = 4
"""Two sides in two cases."""


def apart(readings: Sequence[Reading]) -> list[Reading]:
    """The readings; where their sides' names are every mixture of sides and cases, those of a side in each case."""
    names = list(dict.fromkeys(reading.side for reading in readings if reading.side))
    parts = [_APART.split(name, maxsplit=1) for name in names]
    if len(names) < LEAST or any(len(part) != 2 for part in parts):
        return list(readings)
    ways = [list(dict.fromkeys(part[place].casefold() for part in parts)) for place in (0, 1)]
    if len(ways[0]) * len(ways[1]) != len(names) or min(map(len, ways)) < 2:
        return list(readings)
    places = [place for place in (1, 0) if any(names_a_side(name) for name in ways[place])]
    plain = [place for place in places if not switched(*ways[place][:2])]
    if not places:
        return list(readings)
    return [_of_case(reading, (plain or places)[0]) if reading.side else reading for reading in readings]


def _of_case(reading: Reading, place: int) -> Reading:
    part = _APART.split(reading.side, maxsplit=1)
    return replace(reading, side=part[place], context=replace(reading.context, section=(*reading.context.section, part[1 - place])))
