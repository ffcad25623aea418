"""The files of the history: `FOLDER/MACHINE/SCENARIO.jsonl`, one entry a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.model.point import Acknowledgement, Entry, Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which points to read: an empty set takes all. `metrics` match with their case (`round_time@output_length=16000`) or without."""

    scenarios: frozenset[str]
    metrics: frozenset[str]
    arms: frozenset[str]
    builds: frozenset[str]
    machines: frozenset[str]


EVERYTHING = Wanted(scenarios=frozenset(), metrics=frozenset(), arms=frozenset(), builds=frozenset(), machines=frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What was read: each point once, in the order of files and lines; `settings` maps an id to what it stands for."""

    points: tuple[Point, ...]
    settings: Mapping[str, Mapping[str, str]]
    acknowledgements: tuple[Acknowledgement, ...]
    warnings: tuple[str, ...]


def append(folder: Path, entries: Sequence[Entry]) -> int:
    """Appends the entries that are not there yet, and says how many; one write a file, under a lock.

    Raises `CannotRun` if a file can't be written: it then ends where it ended before.
    """
    raise NotImplementedError


def read(folder: Path, wanted: Wanted = EVERYTHING) -> History:
    """What a history folder holds; raises `BadInput` where there is none."""
    raise NotImplementedError
