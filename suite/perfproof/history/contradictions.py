"""Contradictions within a line of a history: its id and its content, its value and its values, its unit and that of its metric.

`perfproof` writes a line as a whole; if two of its parts disagree, somebody changed one. It is not guessed which is right: the line is
reported and does not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfproof.analysis.stats.samples import typical
from perfproof.history.points_from_records import kind_of_point
from perfproof.model.history.point import Acknowledgement, Entry, Point, identified
from perfproof.model.scenarios.metrics import metric

ACKNOWLEDGED = ("scenario", "metric", "arm", "machine", "at", "reason")
"""The fields that the id of an acknowledgement follows from."""
MEASURED = ("scenario", "metric", "arm", "build", "version", "sources", "machine", "environment", "packages", "workload", "values", "when")
"""Those of a point."""
CLOSE = 1e-9
"""The largest relative difference of two means that are the same."""


def faults(entry: Entry) -> Iterator[str]:
    """The contradictions of an entry whose shape is right (`entry_schema`), a sentence each that begins with the field."""
    if (right := identity(entry)) != entry.id:
        yield f"id: is {entry.id[:40]!r}, that of its content is {right!r}: one of them was changed"
    if isinstance(entry, Point):
        yield from of_metric(entry.metric, entry.unit, entry.better, entry.kind)
        if not is_mean(entry.value, entry.values):
            yield f"value: is {entry.value!r}, that of its values is {typical(entry.values)!r}: one of them was changed"


def identity(entry: Entry) -> str:
    """The id that follows from an entry's content."""
    if isinstance(entry, Point):
        return _identified(entry, MEASURED)
    return _identified(entry, ACKNOWLEDGED if isinstance(entry, Acknowledgement) else ("what",))


def _identified(entry: Entry, names: Sequence[str]) -> str:
    return identified(**{name: getattr(entry, name) for name in names})


def of_metric(name: str, unit: str, better: str, kind: str) -> Iterator[str]:
    """The contradictions between what a point says of its metric and the registry. A count that another tool measured is `timed`."""
    row = metric(name)
    said: Mapping[str, tuple[Any, Any]] = {"unit": (unit, row.unit), "better": (better, row.better), "kind": (kind, kind_of_point(name))}
    for field, (own, right) in said.items():
        if own != right and (field, own, right) != ("kind", "timed", "count"):
            yield f"{field}: is {own[:40]!r}, that of {name[:80]} is {right!r}"


def is_mean(value: float, values: Sequence[float]) -> bool:
    """Whether a point's value is that of its values."""
    return math.isclose(value, typical(values), rel_tol=CLOSE)
