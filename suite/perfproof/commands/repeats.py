"""Repeats of scenarios: other folders beside a results folder, and other groups of trials in it, that asked the same question."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from perfproof import store
from perfproof.analysis.judging import judge as judging
from perfproof.analysis.judging.repeats import Repeat
from perfproof.analysis.trials.trial_groups import kept_apart
from perfproof.model.base import regular_files
from perfproof.model.base.errors import BadInput, PerfproofError
from perfproof.model.records.record import Record
from perfproof.model.scenarios.group_names import is_of_all_hosts, own_name
from perfproof.model.verdicts.judged import Judged

MOST_FOLDERS, MOST_REPEATS = 400, 6
"""Entries that are looked at beside a results folder, and repeats that are judged of a scenario."""
Repeats = Mapping[str, Sequence[Repeat]]
"""The repeats of each scenario."""


def repeats(results: Path, records: Sequence[Record], rows: Sequence[Judged]) -> Repeats:
    """The repeats of every scenario in these records.

    A folder that can't be read is left out: it says nothing about this one.
    """
    digests = {record.scenario: record.digest for record in records}
    return {
        name: [*_groups(name, rows), *_beside(results, own_name(name), digest)]
        for name, digest in digests.items()
        if not _of_answers(name, rows)
    }


def _of_answers(name: str, rows: Sequence[Judged]) -> bool:
    return all(row.kind == "share" for row in rows if row.scenario == name)


def _groups(name: str, rows: Sequence[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    """Other groups of the same scenario's trials in the same folder, on another GPU, say; never one that has the same trials."""
    others = dict.fromkeys(row.scenario for row in rows if row.scenario != name and own_name(row.scenario) == own_name(name))
    if is_of_all_hosts(name):
        return
    others = {other: None for other in others if not is_of_all_hosts(other)}
    yield from ((other, [row for row in rows if row.scenario == other]) for other in others)


def _beside(results: Path, name: str, digest: str) -> Iterator[tuple[str, list[Judged]]]:
    """The folders beside this one with records of the same definition."""
    folder = results.resolve()
    try:
        places = [
            folder.parent,
            *(each for each in islice(sorted(folder.parent.iterdir()), MOST_FOLDERS) if each != folder and each.is_dir()),
        ]
        found = [place for place in places if _digest(store.records_file(place, name)) == digest]
    except OSError:
        return
    for place in found[:MOST_REPEATS]:
        try:
            own = [record for record in store.read(place).records if record.scenario == name]
            judged = judging.judge_records(kept_apart(own), floors=store.read_floors(place))
        except PerfproofError:
            continue
        yield place.name, [row for one in judged for row in one.judged]


def _digest(path: Path) -> str:
    """The digest of the definition in the first record of a file; "" where there is none."""
    try:
        with regular_files.checked(path).open("rb") as lines:
            first = json.loads(lines.readline())
    except (OSError, ValueError, RecursionError, BadInput):
        return ""
    return str(first.get("digest", "")) if isinstance(first, dict) else ""
