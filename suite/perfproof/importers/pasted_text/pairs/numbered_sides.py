"""Sides that are one side's runs: "main #1", "main #2", "PR #1" and "PR #2" are two runs of main and two of PR."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.context.readings import Reading
from perfproof.model.scenarios.side_names import role

_NUMBERED = re.compile(
    r"(?i)^(?P<side>.*?[^\W\d_].*?)[\s_.-]*(?:\(\s*(?P<inside>#?\s?[0-9]{1,2})\s*\)|(?P<number>#\s?[0-9]{1,2}|[0-9]{1,2}))$"
)


def as_runs(readings: Sequence[Reading]) -> list[Reading]:
    """The readings; where two sides are there with the same numbers behind their names, each number is a run."""
    ways = {name: found for name in {reading.side for reading in readings} if (found := _NUMBERED.match(name)) and not _is_change(name)}
    numbers: dict[str, set[str]] = defaultdict(set)
    for found in ways.values():
        numbers[found["side"].strip().casefold()].add(_number(found))
    several = {side for side, own in numbers.items() if len(own) > 1 and role(side)}
    if len(several) < 2 or len({role(side) for side in several}) < 2:
        return list(readings)
    return [_as_run(reading, ways.get(reading.side), several) for reading in readings]


def _as_run(reading: Reading, found: re.Match[str] | None, several: set[str]) -> Reading:
    if found is None or found["side"].strip().casefold() not in several:
        return reading
    return replace(reading, side=found["side"].strip(), run=reading.run or _number(found))


def _number(found: re.Match[str]) -> str:
    return (found["inside"] or found["number"]).strip("# ")


def _is_change(name: str) -> bool:
    """Whether the number is a pull request's own: of more than two figures."""
    return bool(re.search(r"#?[0-9]{3,}$", name))
