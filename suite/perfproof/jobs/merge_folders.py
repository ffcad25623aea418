"""Joins results folders by content: in any order, twice without harm. Records of different questions, builds or GPUs are refused.

A line is a record, whole and unchanged; the same line of two folders is one. The lines of a scenario are sorted by block, host and time,
so that the joined folder does not tell in which order it was made. The joined folder may be one of those that are read, and may be there
already.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from perfproof import store
from perfproof.analysis.stats import number_format
from perfproof.analysis.trials import trial_groups
from perfproof.analysis.trials.paired_trials import spoilt_for
from perfproof.analysis.trials.spread_blocks import host_of
from perfproof.executor import held
from perfproof.model.base import regular_files
from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records import definition_diff, kept_counts
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario

SHOWN = 8
"""The most names or blocks that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What a joined folder holds: its records and hosts, how many records are new in it, and sentences on what is missing or was left
    behind."""

    records: int
    new: int
    folders: int
    hosts: int
    scenarios: int
    told: tuple[str, ...]
    whole: bool

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        what = f"{number_format.count(self.records, 'record')} of {number_format.count(self.scenarios, 'scenario')}"
        return (
            f"{what} from {number_format.count(self.hosts, 'host')}: {self.new} new, from {number_format.count(self.folders, 'folder')}; "
            f"{self.records - self.new} were there already"
        )


class _Key(NamedTuple):
    """What a line is sorted by; a moment has whole seconds, in which more than one attempt may have begun."""

    block: int
    host: str
    started: str
    valid: bool
    position: int
    arm: str
    digest: bytes


@dataclass(slots=True, kw_only=True)
class _Joined:
    """The lines so far by scenario, with the key that sorts each; the first record of each scenario and what its arms ran on, with their
    folders."""

    lines: dict[str, dict[bytes, tuple[_Key, bytes]]] = field(default_factory=dict)
    first: dict[str, tuple[Record, Path]] = field(default_factory=dict)
    scenarios: dict[str, Scenario] = field(default_factory=dict)
    facts: dict[str, dict[str, tuple[str, Path]]] = field(default_factory=dict)
    hosts: set[str] = field(default_factory=set)
    blocks: dict[str, dict[tuple[str, int], set[str]]] = field(default_factory=dict)
    floors: dict[str, dict[bytes, tuple[str, bytes]]] = field(default_factory=dict)
    counts: dict[str, Path] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    empty: list[Path] = field(default_factory=list)


def merge(folders: Sequence[Path], out: Path) -> Merged:
    """Joins the results folders into `out`. Raises `BadInput` for a folder that is not there, for records that don't belong together and
    where no folder has any, before anything is written; `CannotRun` where a run holds `out`."""
    faults = [f"{folder}: no such results folder" for folder in folders if not folder.is_dir()]
    if faults:
        raise BadInput(*faults)
    with held(out):
        joined = _Joined()
        _add(joined, out)
        before = _size(joined)
        joined.empty.clear()
        for folder in folders:
            if folder.resolve() != out.resolve():
                _add(joined, folder)
        if not joined.lines:
            raise BadInput(f"{', '.join(map(str, folders[:SHOWN]))}: no records (*.jsonl) to merge")
        _write(joined, out)
    missing = list(_missing(joined))
    return Merged(
        records=_size(joined),
        new=_size(joined) - before,
        folders=len(folders) - len(joined.empty),
        hosts=len(joined.hosts),
        scenarios=len(joined.lines),
        told=(*joined.told, *_nothing_yet(joined.empty), *missing),
        whole=not missing,
    )


def _size(joined: _Joined) -> int:
    return sum(map(len, joined.lines.values()))


def _add(joined: _Joined, folder: Path) -> None:
    """Adds the records, noise floors and kept counts of a folder. Raises `BadInput` for what does not belong to the folders before it."""
    paths = sorted(folder.glob("*.jsonl"))
    if not paths:
        joined.empty.append(folder)
    faults, usable = list[str](), False
    for path in paths:
        for line, record in store.record_lines(path):
            if isinstance(record, str) or record.scenario != path.stem:
                why = record if isinstance(record, str) else f"{path}: holds a record of another scenario"
                faults.append(why.removesuffix(store.SKIPPED))
                continue
            usable = True
            _check(joined, record, folder)
            digest = hashlib.blake2b(line, digest_size=16).digest()
            key = _Key(record.block, host_of(record), record.started, record.status != "invalid", record.position, record.arm, digest)
            joined.lines.setdefault(record.scenario, {}).setdefault(digest, (key, line))
            joined.hosts.add(host_of(record))
            if not spoilt_for(joined.scenarios[record.scenario], record):
                arms = joined.blocks.setdefault(record.scenario, {}).setdefault((host_of(record), record.block), set())
                arms.add(record.arm)
    _tell_faults(joined, folder, faults, usable)
    for path in sorted((folder / "machine").glob("*.jsonl")):
        for line, floor in store.floor_lines(path):
            joined.floors.setdefault(path.name, {}).setdefault(hashlib.blake2b(line, digest_size=16).digest(), (floor.when, line))
    for path in sorted((folder / store.COUNTS).glob("*.json")):
        joined.counts.setdefault(path.stem, path)


def _tell_faults(joined: _Joined, folder: Path, faults: Sequence[str], usable: bool) -> None:
    """Tells which lines are left behind. Raises `BadInput` where a folder has no record, and more than a line that a killed job cut off."""
    if not usable and any(store.CUT_OFF not in fault for fault in faults):
        raise BadInput(f"{folder}: none of its {number_format.count(len(faults), 'line')} is a record of perfproof", *faults[:SHOWN])
    joined.told += [f"{fault}: not merged" for fault in faults[:SHOWN]]
    if len(faults) > SHOWN:
        joined.told.append(f"{folder}: {len(faults) - SHOWN} more lines that are no records: not merged")


def _check(joined: _Joined, record: Record, folder: Path) -> None:
    """Raises `BadInput` for a record that does not belong to the others of its scenario."""
    name = record.scenario
    if name not in joined.first:
        joined.first[name], joined.scenarios[name] = (
            (record, folder),
            scenario_of(record.definition, source=f"{folder}: the records of {name}"),
        )
    first, where = joined.first[name]
    if record.digest != first.digest:
        how = definition_diff.describe(first.definition, record.definition) or f"its digest was {first.digest} and is {record.digest}"
        raise BadInput(f"{folder}: holds records of another '{name}' than {where} ({how}): records of different questions don't mix")
    if record.seed != first.seed:
        raise BadInput(
            f"{folder}: '{name}' was measured with --seed {record.seed}, in {where} with {first.seed}: the seed gives a block its order "
            "and its inputs; merge runs of one seed"
        )
    known = joined.facts.setdefault(name, {})
    for key, value in trial_groups.lasting_facts(record).items():
        before, source = known.setdefault(key, (value, folder))
        if before != value:
            what = "GPUs" if key == "GPU" else "builds"
            raise BadInput(
                f"{folder}: '{name}' was measured on other {what} than in {source} ({key} was {before} and is {value}): records of "
                f"different {what} don't mix; merge them into separate folders"
            )


def _write(joined: _Joined, out: Path) -> None:
    """Writes what changed: counts first, for records name them."""
    for name, path in joined.counts.items():
        content = regular_files.content(path)
        if kept_counts.name_of(content) != name:
            raise BadInput(f"{path}: is not what its name says, so it was changed: restore it, or leave that folder out")
        kept_counts.keep(out / store.COUNTS, {name: content}, str(path))
    for scenario, lines in joined.lines.items():
        store.replace_lines(store.records_file(out, scenario), [line for _, line in _sorted(lines.values())])
    for file, floors in joined.floors.items():
        store.replace_lines(out / "machine" / file, [line for _, line in sorted(floors.values())])


def _sorted(lines: Iterable[tuple[_Key, bytes]]) -> Iterator[tuple[_Key, bytes]]:
    """The lines by block, host and time. Of trials that began in the same second, one that the running attempt lacks comes before one that
    begins another attempt, and what was thrown out before what replaced it."""
    for _, block in groupby(sorted(lines), key=lambda entry: entry[0][:2]):
        seen: set[str] = set()
        for _, tied in groupby(block, key=lambda entry: entry[0].started):
            waiting = list(tied)
            while waiting:
                following = next((entry for entry in waiting if entry[0].arm not in seen), None)
                if following is None:
                    seen.clear()
                    continue
                waiting.remove(following)
                seen.add(following[0].arm)
                yield following


def _nothing_yet(empty: Sequence[Path]) -> Iterator[str]:
    """A sentence on the folders that hold no records: their jobs never began, or were lost."""
    if empty:
        yield f"{number_format.count(len(empty), 'folder')} without a record: {few([str(folder) for folder in empty], SHOWN)}"


def _missing(joined: _Joined) -> Iterator[str]:
    """A sentence on each scenario of which blocks of one plan are missing: never measured, broken off, or invalid."""
    for name, scenario in joined.scenarios.items():
        if joined.first[name][0].spread and (blocks := _missing_blocks(scenario, joined.blocks.get(name, {}))):
            named = few([str(block) for block in blocks], SHOWN)
            yield f"{name}: of {scenario.most_blocks} blocks {len(blocks)} are missing or not whole: {named}"


def _missing_blocks(scenario: Scenario, seen: Mapping[tuple[str, int], set[str]]) -> list[int]:
    """The numbers of the blocks that no host has whole; `seen` has the arms by host and block."""
    arms = {arm.name for arm in scenario.arms}
    whole = {block for (_, block), own in seen.items() if own >= arms or (scenario.again and block > 1 and own >= {scenario.baseline.name})}
    return [block for block in range(1, scenario.most_blocks + 1) if block not in whole]
