"""The files of the history: `FOLDER/MACHINE/SCENARIO.jsonl`, one entry per line, appended and never rewritten."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.history import entry_schema
from perfproof.history.append_only import Change, Line, append_lines, lines, rewrite
from perfproof.history.entry_schema import Newer
from perfproof.history.overlapping_points import covered
from perfproof.model.base.errors import BadInput
from perfproof.model.base.regular_files import checked
from perfproof.model.history.point import POINT_SCHEMA, Acknowledgement, Entry, Point, Setting
from perfproof.model.scenarios.metrics import base_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The points to read: an empty set means all. `metrics` match with their case (`round_time@output_length=16000`) or without."""

    scenarios: frozenset[str]
    metrics: frozenset[str]
    arms: frozenset[str]
    builds: frozenset[str]
    machines: frozenset[str]

    def takes(self, point: Point) -> bool:
        """Whether this point is wanted; scenario and machine of a point in a file are those of the file."""
        return (
            _in(point.scenario, self.scenarios)
            and (_in(point.metric, self.metrics) or base_name(point.metric) in self.metrics)
            and _in(point.arm, self.arms)
            and _in(point.build, self.builds)
            and _in(point.machine, self.machines)
        )


def _in(value: str, wanted: frozenset[str]) -> bool:
    return not wanted or value in wanted


EVERYTHING = Wanted(scenarios=frozenset(), metrics=frozenset(), arms=frozenset(), builds=frozenset(), machines=frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The content of a history: each trial once, points in the order of files and lines; `settings` maps an id to its values."""

    points: tuple[Point, ...]
    settings: Mapping[str, Mapping[str, str]]
    acknowledgements: tuple[Acknowledgement, ...]
    warnings: tuple[str, ...]


def file_of(folder: Path, entry: Entry) -> Path:
    """The file of an entry; raises `BadInput` for names that lead elsewhere, which foreign records may have."""
    for name in (entry.machine, entry.scenario):
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise BadInput(f"{name!r}: not a name that a history file can have")
    return folder / entry.machine / f"{entry.scenario}.jsonl"


def append(folder: Path, new: Sequence[Entry]) -> int:
    """Appends the new entries, and returns how many; one write per file, under a lock.

    Raises `CannotRun` if a file can't be written: it then ends where it ended before.
    """
    by_file: dict[Path, dict[str, Entry]] = {}
    for entry in new:
        by_file.setdefault(file_of(folder, entry), {})[entry.id] = entry
    return sum(append_lines(path, {key: entry_schema.text(entry) for key, entry in group.items()}) for path, group in by_file.items())


def read(folder: Path, wanted: Wanted = EVERYTHING) -> History:
    """The content of a history folder; raises `BadInput` where there is none.

    A line that can't be read is reported, with its file and number, and skipped; it stays in the file.
    """
    entries: dict[str, Entry] = {}
    warnings: list[str] = []
    for path in files(folder, wanted):
        for line in lines(path):
            entry = entry_on(path, line)
            if isinstance(entry, str):
                warnings.append(entry)
            elif not isinstance(entry, Point) or wanted.takes(entry):
                entries.setdefault(entry.id, entry)
    points = [entry for entry in entries.values() if isinstance(entry, Point)]
    gone = covered((_run(point), point.id, point.values) for point in points)
    return History(
        points=tuple(point for point in points if point.id not in gone),
        settings={entry.id: entry.what for entry in entries.values() if isinstance(entry, Setting)},
        acknowledgements=tuple(entry for entry in entries.values() if isinstance(entry, Acknowledgement)),
        warnings=tuple(warnings),
    )


def _run(point: Point) -> tuple[str, ...]:
    """A key that is equal for the points of one run, however many trials it had."""
    build = (point.build, point.version, point.sources, point.environment, point.packages, point.when)
    return (*dataclasses.astuple(point.series), *build)


def files(folder: Path, wanted: Wanted = EVERYTHING) -> list[Path]:
    """The files of a history folder that can hold wanted points; raises `BadInput` where there is no such folder."""
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such history folder; 'perfproof history add RESULTS --history {folder}' makes one")
    paths = map(checked, sorted(folder.glob("*/*.jsonl")))
    return [path for path in paths if _in(path.stem, wanted.scenarios) and _in(path.parent.name, wanted.machines)]


def entry_on(path: Path, line: Line) -> Entry | str:
    """The entry of a line, or its fault."""
    try:
        return entry_schema.entry_of(line.parsed())
    except Newer as newer:
        return f"{path}:{line.number}: {newer}, skipped and kept; upgrade perfproof to see it"
    except ValueError as error:
        return f"{path}:{line.number}: {error}, skipped and kept"


# --- rewriting, with a new file -----------------------------------------------------------------------


def migrate(folder: Path) -> tuple[int, list[str]]:
    """Rewrites only lines of an older schema, in the current one; returns how many, and the faults of lines that could not be read."""
    return _rewritten(folder, EVERYTHING, _migrated)


def prune(folder: Path, wanted: Wanted, goes: Callable[[Point], bool], *, dry: bool) -> tuple[int, list[str]]:
    """Removes the wanted points for which `goes` is true, and duplicate lines; returns how many, and the faults of unreadable lines.

    Acknowledgements, settings and lines that can't be read always stay. With `dry` nothing is written.
    """
    seen: set[tuple[str, str, str]] = set()

    def change(entry: Entry, line: bytes) -> bytes | None:
        place = (entry.machine, entry.scenario, entry.id)
        if place in seen:
            return None
        seen.add(place)
        return None if isinstance(entry, Point) and wanted.takes(entry) and goes(entry) else line

    return _rewritten(folder, wanted, change, dry=dry)


def _migrated(entry: Entry, line: bytes) -> bytes:
    return line if entry_schema.schema_of(line) == POINT_SCHEMA else entry_schema.text(entry)


def _rewritten(folder: Path, wanted: Wanted, change: Callable[[Entry, bytes], bytes | None], *, dry: bool = False) -> tuple[int, list[str]]:
    changed, warnings = 0, []

    def of_file(path: Path) -> Change:
        def of_line(line: Line) -> bytes | None:
            entry = entry_on(path, line)
            if isinstance(entry, str):
                warnings.append(entry)
                return line.text
            return change(entry, line.text)

        return of_line

    for path in files(folder, wanted):
        changed += rewrite(path, of_file(path), dry=dry)
    return changed, warnings
