"""Sides that stand within the names of numbers: "throughput at 1a2b3c4" and "throughput at 9f8e7d6", "p50 v0.10.2" and "p50 v0.11.0"."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.context.readings import Reading
from perfproof.importers.pasted_text.words.alternatives import alternatives, implementation, kind
from perfproof.importers.pasted_text.words.cells import unit_of
from perfproof.model.scenarios.metric_directions import better
from perfproof.model.scenarios.side_names import commit, release, role

_JOINING = re.compile(r"(?i)\b(?:at|on|in|with|for|using)\s*$")
MOST = 4
"""Sides that a text may name in this way, at most."""


def told_apart(readings: Sequence[Reading]) -> list[Reading]:
    """The readings; of those without a side, where their names are the same but for a version, a commit or an implementation, each has
    this as its side."""
    if any(reading.side for reading in readings):
        return list(readings)
    ways = [_parted(reading.label) for reading in readings]
    names: dict[str, set[str]] = defaultdict(set)
    for way in ways:
        if way:
            names[way[1].casefold()].add(way[0])
    shared = {rest for rest, sides in names.items() if 1 < len(sides) <= MOST}
    options = {side for rest in shared for side in names[rest] if kind(side) == "option"}
    if not shared or (options and not alternatives(sorted(options))):
        return list(readings)
    return [
        replace(reading, side=way[0], label=way[1] or "value", measure=way[1] or reading.measure)
        if way and way[1].casefold() in shared
        else reading
        for reading, way in zip(readings, ways, strict=True)
    ]


def adopted(readings: Sequence[Reading]) -> list[Reading]:
    """The readings; a line that stands beside lines of one side alone, "FP8 (this PR): 0.8772", and has no more than a name that is no
    metric, "BF16: 0.8810", is of a side of that name."""
    lines = [each for each in readings if each.kind == "line"]
    sided = [each for each in lines if each.side]
    if not sided or len({role(each.side) for each in sided}) != 1 or not role(sided[0].side):
        return list(readings)
    return [_beside(each, sided, lines) if not each.side and each.kind == "line" else each for each in readings]


def _beside(reading: Reading, sided: Sequence[Reading], lines: Sequence[Reading]) -> Reading:
    """A reading as of the side that its name is, where lines without a gap lead to one of a side with the same unit."""
    places = {each.place for each in lines}
    name, _, rest = reading.label.partition(", ")
    name = name.rstrip(" ->→=:")
    for other in sided:
        between = range(*sorted((reading.place, other.place)))
        alike = (other.unit == reading.unit or not other.unit) and other.context.section == reading.context.section
        if alike and rest in ("", other.label, other.unit) and places.issuperset(between) and better(name) is None and not unit_of(name):
            return replace(reading, side=name, label=other.label, measure=other.measure, named=other.named)
        first, _, last = reading.label.rpartition(", ")
        if alike and first == other.label and places.issuperset(between) and better(last) is None and not unit_of(last):
            return replace(reading, side=last, label=other.label, measure=other.measure)
    return reading


def _parted(label: str) -> tuple[str, str] | None:
    """The one word of a name that may be a side, and the rest."""
    found = [word for word in re.finditer(r"[^\s(),:]+", label) if _may_be(word[0])]
    if len(found) != 1:
        return None
    before, behind = label[: found[0].start()], label[found[0].end() :]
    rest = f"{_JOINING.sub('', before).strip(' (,:')} {behind.strip(' ),:')}".strip()
    return found[0][0], rest


def _may_be(word: str) -> bool:
    return (release(word) is not None and not word.isdigit()) or commit(word) or implementation(word) or kind(word) == "option"
