"""Which scenarios called the functions of a change, by the counts of their trials.

A scenario that exercises a whole module may or may not run the changed code; only its trials show that. Where another scenario ran the
change, one that never called it decides nothing. Where no scenario about answers called a function, its answers were not tested, and that
is not a pass. Pure, except `earlier_records`, which reads the folders of other changes.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof import store
from perfproof.analysis.trials.counted_rounds import rounds
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.countable_functions import Watching
from perfproof.changes.counting.host_count import RAN
from perfproof.changes.scenario_selection import GUESSED, NAMED
from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.kinds import kind_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.processes.attestation import NEVER_RAN

CALLED = "called what the change touches: "
"""How that sentence begins instead where no new line is known to have run."""
NOT_TESTED = "answers were NOT tested"
"""The start of the sentence on functions that no scenario about answers called."""
MOST_TOLD = 6
"""The most names in a sentence."""
MOST_FOLDERS = 20
"""The most folders of earlier changes that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """The calls of each changed function by scenario: over all trials (`anywhere`) and with the change (`changed`).

    A function that no trial could count, nor a counted round saw, is in neither. `idle` are the scenarios whose trials were all excluded
    because nothing ran the changed code.
    """

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
        """The idle scenarios, if another one ran the change: their results are not about it."""
        return self.idle if self.ran else ()

    def untested(self, about_answers: Collection[str]) -> dict[str, bool]:
        """The functions that none of these scenarios called, each with whether another one did.

        Calls with the change count; for a function that the change removes, calls on the base.
        """
        found = {}
        for function in dict.fromkeys(name for counts in self.anywhere.values() for name in counts):
            there = any(function in counts for counts in self.changed.values())
            calling = [name for name, counts in (self.changed if there else self.anywhere).items() if counts.get(function)]
            if not any(name in about_answers for name in calling):
                found[function] = bool(calling)
        return found


def called(watched: Watching, names: Iterable[str], records: Iterable[Record]) -> Called:
    """The calls of a change's functions in the records of these scenarios: those that are counted, and those that counted rounds saw."""
    functions = [*watched.functions, *watched.unknown]
    of_name: dict[str, list[Record]] = {name: [] for name in names}
    for record in records:
        if record.scenario in of_name:
            of_name[record.scenario].append(record)
    anywhere = {name: _summed(own, functions) for name, own in of_name.items()}
    changed = {name: _summed([one for one in own if not _of_base(one)], functions) for name, own in of_name.items()}
    idle = [name for name, own in of_name.items() if own and all(map(_never_ran, own)) and not any(anywhere[name].values())]
    return Called(anywhere=anywhere, changed=changed, idle=tuple(idle))


def calls(record: Record, functions: Iterable[str]) -> dict[str, int]:
    """How often each of the functions was called in a trial, or else in its counted rounds; functions that neither counted are left out."""
    counts = record.attestation.counts if record.attestation else {}
    attested = {name: counts[f"calls {name}"] for name in functions if f"calls {name}" in counts}
    others = [name for name in functions if name not in attested]
    return attested | (_in_rounds(record, others) if others else {})


def _in_rounds(record: Record, functions: Sequence[str]) -> dict[str, int]:
    """How often each of the functions was called in a trial's counted rounds, where it was."""
    found: Counter[str] = Counter()
    for work in rounds(record).values():
        for name, own in work.functions.items():
            found[name] += own.calls
    return {name: found[name] for name in functions if found[name]}


def called_by_case(watched: Watching, names: Collection[str], records: Iterable[Record]) -> dict[str, dict[str, bool]]:
    """Whether the counted rounds of each case call a function of the change; of scenarios of which some do and others do not."""
    found: dict[str, dict[str, bool]] = {}
    for record in records:
        for case, work in rounds(record).items() if record.scenario in names else ():
            hit = any(name in work.functions and work.functions[name].calls for name in watched.functions)
            cases = found.setdefault(record.scenario, {})
            cases[case] = cases.get(case, False) or hit
    return {} if watched.unknown else {scenario: cases for scenario, cases in found.items() if len({*cases.values()}) > 1}


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
    """The names of the scenarios that compare answers."""
    return {one.name for one in scenarios if kind_of(one.workload).of_answers}


def sentences(calls: Called, about: Collection[str]) -> Iterator[str]:
    """Sentences on which scenarios ran the change, which did not and so decide nothing, and which functions' answers were not tested."""
    yield from ran_sentences(calls)
    if calls.aside:
        never = _short(dict.fromkeys(each for name in calls.aside for each in calls.anywhere[name]))
        yield f"did not run the change, and so do not decide: {few(calls.aside, MOST_TOLD)} (never called {never})"
    untested = calls.untested(about)
    for by_others, why in ((True, "no scenario about answers called"), (False, "no scenario at all called")):
        if functions := [function for function, elsewhere in untested.items() if elsewhere is by_others]:
            yield f"{NOT_TESTED} for {_short(functions)}: {why} {'it' if len(functions) == 1 else 'them'}"


def ran_sentences(calls: Called) -> Iterator[str]:
    """A sentence on the scenarios that ran the change, with the functions that they called; none where none did."""
    where: dict[tuple[str, ...], list[str]] = {}
    for name, functions in calls.ran.items():
        where.setdefault(functions, []).append(name)
    if where:
        yield RAN + "; ".join(f"{few(names, MOST_TOLD)} (called {_short(functions)})" for functions, names in where.items())


def borne_out(reasons: Mapping[str, str], calls: Called, counted: Watching) -> dict[str, str]:
    """The reasons for measuring scenarios, by name, without those that the calls contradict.

    The calls contradict a scenario that ran the change although it names none of it, or ran none of it although it names it.
    """
    silent = {name for name, counts in calls.anywhere.items() if counts and not any(counts.values()) and not counted.unknown}
    surprising = {name for name in calls.ran if reasons.get(name) in (NAMED, GUESSED)}
    return {name: reason for name, reason in reasons.items() if name not in silent | surprising}


def earlier_records(folders: Iterable[Path]) -> list[Record]:
    """The records of the results folders of other changes, of which the newest are read."""
    recent = sorted(folders, key=lambda folder: folder.stat().st_mtime)[-MOST_FOLDERS:]
    return [record for folder in recent for record in _readable(folder)]


def idle_before(scenarios: Iterable[Scenario], watched: Watching, base: ReadyBuild, records: Iterable[Record]) -> set[str]:
    """The scenarios in which the base calls none of the functions, by the records of earlier changes.

    They do not run this change either, because only these functions lead to it. `scenarios` have a change's arms. For a function that the
    base lacks, or code without counts, nothing is known before.
    """
    if watched.unknown or not watched.functions:
        return set()
    telling = [record for record in records if record.status == "ok" or _never_ran(record)]
    known: dict[str, int] = {}
    for scenario in scenarios:
        for record in (one for one in telling if _alike(one, scenario, base)):
            counts = calls(record, watched.functions)
            if len(counts) == len(watched.functions):
                known[scenario.name] = known.get(scenario.name, 0) + sum(counts.values())
    return {name for name, count in known.items() if not count}


def _readable(folder: Path) -> Sequence[Record]:
    """The records of a folder; none where they have a newer format."""
    with contextlib.suppress(BadInput):
        return store.records_in(folder)
    return ()


def _alike(record: Record, scenario: Scenario, base: ReadyBuild) -> bool:
    """Whether a record is of the base, with the same workload and settings as the scenario."""
    name, definition = scenario.baseline.name, scenario.definition
    if (record.scenario, record.arm) != (scenario.name, name) or record.attestation is None:
        return False
    same = record.definition["workload"] == definition["workload"] and record.definition["arms"][name] == definition["arms"][name]
    return same and record.attestation.sources == base.fingerprint.sources


def _short(functions: Iterable[str]) -> str:
    """Functions by their names without modules."""
    return few([name.partition(":")[2] for name in functions], MOST_TOLD)
