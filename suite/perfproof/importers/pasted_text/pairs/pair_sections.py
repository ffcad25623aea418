"""The sections that part readings: the headings above them, the conditions that a client was run under, and the models."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.context.readings import Reading, ordinal
from perfproof.model.base.quantities import known

_UNIT = re.compile(r"\s*[(\[]([^()\[\]]{1,20})[)\]]")

Section = tuple[str, ...]


def ordered(readings: Sequence[Reading], conditions: Mapping[int, Mapping[str, str]]) -> list[Reading]:
    """The readings; blocks without a side's name by their order, blocks under other conditions in sections of their own."""
    unnamed: dict[Section, list[int]] = defaultdict(list)
    found = []
    for reading in readings:
        if not reading.side:
            places = unnamed[reading.context.section]
            places += [reading.place] if reading.place not in places else []
            reading = replace(reading, side=ordinal(places.index(reading.place) + 1))
        found.append(reading)
    return [_conditioned(reading, found, conditions) for reading in found] if conditions else found


def _conditioned(reading: Reading, all_: Sequence[Reading], conditions: Mapping[int, Mapping[str, str]]) -> Reading:
    own = conditions.get(reading.place, {})
    varied = [name for name in own if _varies(name, reading, all_, conditions)]
    if not varied:
        return reading
    section = (*reading.context.section, *(f"{name} {own[name]}" for name in varied))
    return replace(reading, context=replace(reading.context, section=section))


def _varies(name: str, reading: Reading, all_: Sequence[Reading], conditions: Mapping[int, Mapping[str, str]]) -> bool:
    """Whether runs of this reading's side have several values of a condition, in its section."""
    places = {one.place for one in all_ if (one.side, one.context.section) == (reading.side, reading.context.section)}
    return len({conditions[place].get(name, "") for place in places if place in conditions}) > 1


def sections(readings: Sequence[Reading]) -> dict[Section, list[Reading]]:
    """The readings by their sections; weak headings part them only where both sides stand below each."""
    groups: dict[Section, list[Reading]] = defaultdict(list)
    names: dict[Section, Section] = {}
    for reading in readings:
        key = tuple(plain_name(name) for name in reading.context.section)
        groups[names.setdefault(key, reading.context.section)].append(reading)
    found: dict[Section, list[Reading]] = {}
    for section, group in groups.items():
        found |= _parted(section, group)
    return found


def _parted(section: Section, group: Sequence[Reading]) -> dict[Section, list[Reading]]:
    parts: dict[Section, list[Reading]] = defaultdict(list)
    for reading in group:
        parts[tuple(plain_name(name) for name in reading.context.weak)].append(reading)
    sided = [len({plain_name(reading.side) for reading in part}) > 1 for part in parts.values()]
    if len(parts) == 1 or not (all(sided) or _clashing(parts)):
        return {section: list(group)}
    return {(*section, *part[0].context.weak): part for part in parts.values()}


def _clashing(parts: Mapping[Section, Sequence[Reading]]) -> bool:
    """Whether one side has a label in several parts: then these are not one."""
    seen = [
        (plain_name(reading.side), plain_name(reading.label))
        for part in parts.values()
        for reading in {(plain_name(r.side), plain_name(r.label)): r for r in part}.values()
    ]
    return len(seen) != len(set(seen))


def plain_name(name: str) -> str:
    """A name by which both sides' are the same: without capitals, marks and units."""
    plain = _UNIT.sub(lambda found: "" if known(found[1]) and "/" not in found[1] else found[0], name)
    return " ".join(re.sub(r"[\s_*`:,;-]+", " ", plain).casefold().split()) or name.casefold()
