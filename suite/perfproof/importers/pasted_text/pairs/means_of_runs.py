"""Means that stand beside the runs which they are the means of: a column behind those of the runs, a row below theirs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.context.readings import Reading
from perfproof.importers.pasted_text.pairs.pair_sections import plain_name
from perfproof.importers.pasted_text.words.run_means import MEAN

_WITHIN = re.compile(rf"(?i)(?<!\w){MEAN}(?:\s+of(?: the)?(?: [0-9]+)? runs)?(?!\w)")


def folded(readings: Sequence[Reading]) -> list[Reading]:
    """The readings; one that is called like the runs of its side, and a mean, is marked as made of them and has their label, where every
    side that has these runs has one."""
    runs: dict[tuple[str, ...], dict[str, Reading]] = defaultdict(dict)
    for each in readings:
        if each.run:
            runs[_whose(each)].setdefault(plain_name(each.label), each)
    if not runs:
        return list(readings)
    marked = [each if each.run or each.made else _of_runs(each, runs[_whose(each)]) for each in readings]
    owed, met = defaultdict[tuple[str, ...], set[str]](set), defaultdict[tuple[str, ...], set[str]](set)
    for each in marked:
        (owed if each.run else met)[_what(each)] |= {plain_name(each.side)} if each.run or each.made else set()
    return [
        one if one is each or (len(owed[_what(one)]) > 1 and owed[_what(one)] == met[_what(one)]) else each
        for each, one in zip(readings, marked, strict=True)
    ]


def _what(reading: Reading) -> tuple[str, ...]:
    return (plain_name(reading.label), *map(plain_name, reading.context.section))


def _whose(reading: Reading) -> tuple[str, ...]:
    return (plain_name(reading.side), *map(plain_name, reading.context.section))


def _of_runs(reading: Reading, runs: dict[str, Reading]) -> Reading:
    found = _WITHIN.search(reading.label)
    if not found or not runs:
        return reading
    rest = f"{reading.label[: found.start()].rstrip(' ,')}, {reading.label[found.end() :].lstrip(' ,')}".strip(" ,")
    name = plain_name(rest) if re.search(r"\w", rest) else ""
    own = runs.get(name) or (next(iter(runs.values())) if not name and len(runs) == 1 else None)
    if own is None:
        return reading
    return replace(reading, label=own.label, measure=own.measure, named=own.named, made=found[0])
