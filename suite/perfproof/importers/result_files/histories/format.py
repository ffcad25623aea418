"""What a format of histories is, and what its readers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from perfproof.importers.result_files.fields import Fields
from perfproof.importers.result_files.source import Source
from perfproof.model.base.untrusted import line
from perfproof.model.history.foreign_points import ForeignPoint

NAMELESS = ("nightly", "latest", "main", "dev", "head")
"""Names of an image or a branch that many builds have: the day tells them apart."""


@dataclass(slots=True, kw_only=True)
class Found:
    """What was read so far: points, what was left out, and what is wrong."""

    points: list[ForeignPoint] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def take(self, fields: Fields) -> None:
        """Takes over what was left out of an object, and its faults."""
        self.faults += fields.faults
        self.notes += [f"{fields.where}: {each}" for each in fields.left_out]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFormat:
    """`recognises` looks at content alone and never raises for another tool's file."""

    name: str
    recognises: Callable[[Source], bool]
    points: Callable[[Source], Found]


def of_rows(source: Source, read: Callable[[str, Mapping[str, Any], Found], None]) -> Found:
    """What `read` finds in each object of a file."""
    found = Found()
    for where, row in source.objects:
        read(where, row, found)
    return found


def word(members: Mapping[str, Any], key: str, limit: int = 200) -> str:
    """The text or number under a key as one harmless line; "" for anything else."""
    raw = members.get(key)
    return line(raw, limit) if isinstance(raw, str | int | float) and not isinstance(raw, bool) else ""


def part(members: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under a key; an empty one for anything else."""
    raw = members.get(key)
    return raw if isinstance(raw, dict) else {}
