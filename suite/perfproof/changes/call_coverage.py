"""Which scenarios called the functions of a change, as their trials counted it.

A scenario that exercises a whole module may run what changed there, or not: only its trials tell. Where another one ran the change, one
that never called it decides nothing. Where none of those that called a function is about answers, its answers were not tested, and that
is no pass. Pure, but for `idle_before`, which looks into the folders of other changes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof import store
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.countable_functions import Watching
from perfproof.changes.scenario_selection import GUESSED, NAMED
from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.kinds import kind_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.processes.attestation import NEVER_RAN

NOT_TESTED = "answers were NOT tested"
"""How the sentence begins on functions of which no scenario about answers ran."""
MOST_TOLD = 6
"""Names in a sentence."""
MOST_FOLDERS = 20
"""So many earlier changes are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """By scenario what was counted of each changed function, in all its trials (`anywhere`) and with the change (`changed`); what no trial
    could count is in neither. `idle` are the scenarios whose every trial was thrown out because nothing ran the changed code."""

    anywhere: Mapping[str, Mapping[str, int]]
    changed: Mapping[str, Mapping[str, int]]
    idle: tuple[str, ...]

    @property
    def ran(self) -> dict[str, tuple[str, ...]]:
        """The scenarios that ran the change, with the functions that each called."""
        found = {name: tuple(each for each, count in counts.items() if count) for name, counts in self.anywhere.items()}
        return {name: functions for name, functions in found.items() if functions}

    @property
    def aside(self) -> tuple[str, ...]:
        """The idle scenarios, where another ran the change: what they say is not about it."""
        return self.idle if self.ran else ()

    def untested(self, about_answers: Collection[str]) -> dict[str, bool]:
        """The functions that none of these scenarios called, with whether any other did. With the change, that is; of a function that it
        takes away, on the base."""
        found = {}
        for function in dict.fromkeys(name for counts in self.anywhere.values() for name in counts):
            there = any(function in counts for counts in self.changed.values())
            calling = [name for name, counts in (self.changed if there else self.anywhere).items() if counts.get(function)]
            if not any(name in about_answers for name in calling):
                found[function] = bool(calling)
        return found


def called(functions: Sequence[str], names: Iterable[str], records: Iterable[Record]) -> Called:
    """What the records of these scenarios count of a change's functions."""
    of_name: dict[str, list[Record]] = {name: [] for name in names}
    for record in records:
        if record.scenario in of_name:
            of_name[record.scenario].append(record)
    anywhere = {name: _summed(mine, functions) for name, mine in of_name.items()}
    changed = {name: _summed([one for one in mine if not _of_base(one)], functions) for name, mine in of_name.items()}
    idle = [name for name, mine in of_name.items() if mine and all(map(_never_ran, mine)) and not any(anywhere[name].values())]
    return Called(anywhere=anywhere, changed=changed, idle=tuple(idle))


def calls(record: Record, functions: Iterable[str]) -> dict[str, int]:
    """How often each of the functions was called in a trial; nothing of those that were not counted."""
    counts = record.attestation.counts if record.attestation else {}
    return {name: counts[f"calls {name}"] for name in functions if f"calls {name}" in counts}


def _summed(records: Iterable[Record], functions: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for record in records:
        for name, count in calls(record, functions).items():
            found[name] = found.get(name, 0) + count
    return found


def _of_base(record: Record) -> bool:
    return bool(record.definition["arms"][record.arm].get("baseline"))


def _never_ran(record: Record) -> bool:
    return record.status == "unattested" and record.reason.startswith(NEVER_RAN)


def about_answers(scenarios: Iterable[Scenario]) -> set[str]:
    """The names of those that compare answers."""
    return {one.name for one in scenarios if kind_of(one.workload).of_answers}


def sentences(found: Called, about: Collection[str]) -> Iterator[str]:
    """Sentences: which scenarios ran the change, which did not and so decide nothing, and of what no answers were tested."""
    yield from ran_told(found)
    if found.aside:
        never = _short(dict.fromkeys(each for name in found.aside for each in found.anywhere[name]))
        yield f"did not run the change, and so decide nothing of it: {few(found.aside, MOST_TOLD)} (never called {never})"
    untested = found.untested(about)
    for by_others, why in ((True, "no scenario about answers called"), (False, "no scenario at all called")):
        if mine := [function for function, elsewhere in untested.items() if elsewhere is by_others]:
            yield f"{NOT_TESTED} for {_short(mine)}: {why} {'it' if len(mine) == 1 else 'them'}"


def ran_told(found: Called) -> Iterator[str]:
    """A sentence on the scenarios that ran the change, and what they called of it; none where none did."""
    where: dict[tuple[str, ...], list[str]] = {}
    for name, functions in found.ran.items():
        where.setdefault(functions, []).append(name)
    if where:
        yield "ran the change: " + "; ".join(f"{few(names, MOST_TOLD)} (called {_short(functions)})" for functions, names in where.items())


def borne_out(reasons: Mapping[str, str], found: Called, counted: Watching) -> dict[str, str]:
    """The reasons for which scenarios were measured, by name, but for those that their calls contradict: who ran the change though it names
    none of it, and who ran none of it though it names it."""
    silent = {name for name, counts in found.anywhere.items() if counts and not any(counts.values()) and not counted.unknown}
    surprising = {name for name in found.ran if reasons.get(name) in (NAMED, GUESSED)}
    return {name: reason for name, reason in reasons.items() if name not in silent | surprising}


def idle_before(scenarios: Iterable[Scenario], found: Watching, base: ReadyBuild, folders: Iterable[Path]) -> set[str]:
    """The scenarios of which other changes have shown that the base calls none of the functions in them: nor does the change, which is
    reached through these alone. `scenarios` have a change's arms, `folders` are results folders of changes, the last ones looked at.

    Whether a function is called that the base lacks, or what no count can tell of, is not known before.
    """
    if found.unknown or not found.functions:
        return set()
    recent = sorted(folders, key=lambda folder: folder.stat().st_mtime)[-MOST_FOLDERS:]
    records = [record for folder in recent for record in _readable(folder) if record.status == "ok" or _never_ran(record)]
    known: dict[str, int] = {}
    for scenario in scenarios:
        for record in (one for one in records if _alike(one, scenario, base)):
            counts = calls(record, found.functions)
            if len(counts) == len(found.functions):
                known[scenario.name] = known.get(scenario.name, 0) + sum(counts.values())
    return {name for name, count in known.items() if not count}


def _readable(folder: Path) -> Sequence[Record]:
    """The records of a folder, none where they are of a newer format."""
    with contextlib.suppress(BadInput):
        return store.records_in(folder)
    return ()


def _alike(record: Record, scenario: Scenario, base: ReadyBuild) -> bool:
    """Whether a record is of the base, doing the very workload of the scenario in the same settings."""
    name, mine = scenario.baseline.name, scenario.definition
    if (record.scenario, record.arm) != (scenario.name, name) or record.attestation is None:
        return False
    same = record.definition["workload"] == mine["workload"] and record.definition["arms"][name] == mine["arms"][name]
    return same and record.attestation.sources == base.fingerprint.sources


def _short(functions: Iterable[str]) -> str:
    """Functions as their authors call them."""
    return few([name.partition(":")[2] for name in functions], MOST_TOLD)
