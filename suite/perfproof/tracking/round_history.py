"""What a round of each microbenchmark of a tracked folder counts, release by release: the table, and the functions behind each step.

Only records are read. Builds come in the order of their versions; each is compared with the one before it that has the benchmark. Cases
whose counted rounds are the same round are shown once. A benchmark that a build does not have is no number there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from packaging.version import Version

from perfproof import store
from perfproof.analysis.trials.counted_rounds import rounds, sized
from perfproof.analysis.trials.paired_trials import counts, latest
from perfproof.model.base.untrusted import line
from perfproof.model.history.upstream_notes import UpstreamChange, between
from perfproof.model.records.counts import Metric, PhaseWork, function_of, numbers_of
from perfproof.model.records.record import Record
from perfproof.report.history.round_markdown import RoundRow, RoundStep
from perfproof.run.checks import catalog

METRIC: Metric = "python_instructions"
FOLDERS = ("*.jsonl", "*/*.jsonl")
"""The records of one build, or of several in a folder each."""
BY_TIME = frozenset(["prometheus_client.metrics:Histogram.observe"])
"""Functions whose work depends on how long something took: a histogram is gone through until a bucket holds the time."""
Key = tuple[str, str]
"""A scenario and a case of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedRounds:
    """A build with the counted round of each case; `version` is what its processes attested, `sizes` how large the rounds were."""

    build: str
    version: str
    rounds: dict[Key, PhaseWork] = field(default_factory=dict)
    sizes: dict[Key, str] = field(default_factory=dict)

    def numbers(self, key: Key) -> Mapping[str, int]:
        """The instructions of a case by function, without what no two rounds agreed on and what depends on times; empty where the build has
        no such round."""
        work = self.rounds.get(key)
        if work is None:
            return {}
        odd = {*BY_TIME, *(function_of(name) for name in work.odd)}
        return {name: number for name, number in numbers_of(work, METRIC).items() if name not in odd}

    def total(self, key: Key) -> int | None:
        return sum(self.numbers(key).values()) if key in self.rounds else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundHistory:
    """The builds in the order of their versions, and of each case the room that its benchmark belongs to."""

    builds: Sequence[TrackedRounds]
    rooms: Mapping[Key, str]


def tracked_rounds(folder: Path) -> RoundHistory:
    """The counted rounds of the builds of a tracked folder; of a build's trials of a case the first."""
    found: dict[str, TrackedRounds] = {}
    rooms: dict[Key, str] = {}
    for path in sorted({file.parent for pattern in FOLDERS for file in folder.glob(pattern)}):
        for record in latest(store.records_in(path)):
            if counts(record) and record.counts:
                build = line(str(record.environment.get("build") or record.arm), 80)
                version = record.attestation.vllm_version if record.attestation else ""
                _add(found.setdefault(build, TrackedRounds(build=build, version=version)), record)
                rooms |= {(record.scenario, case): _room(record) for case in record.counts}
    ordered = sorted(found.values(), key=lambda one: (_version(one.version), one.build))
    return RoundHistory(builds=ordered, rooms=_told(ordered, rooms))


def _add(build: TrackedRounds, record: Record) -> None:
    for case, work in rounds(record).items():
        at = record.counts[case].get("at")
        if (record.scenario, case) not in build.rounds:
            build.rounds[record.scenario, case] = work
            build.sizes[record.scenario, case] = sized(at) if isinstance(at, dict) else ""


def _room(record: Record) -> str:
    """The part of a step that the record's benchmark is in; "" for others."""
    known = catalog.benches().get(str(record.definition["workload"].get("bench")))
    return known.room if known else ""


def _told(builds: Sequence[TrackedRounds], rooms: Mapping[Key, str]) -> dict[Key, str]:
    """The cases that are shown: the first of those of a scenario that count the same in every build."""
    kept: dict[Key, str] = {}
    seen: set[tuple[object, ...]] = set()
    for key, room in sorted(rooms.items(), key=lambda item: (item[1], item[0][0])):
        same = (key[0], *(tuple(sorted(build.numbers(key).items())) if key in build.rounds else None for build in builds))
        if same not in seen:
            seen.add(same)
            kept[key] = room
    return kept


def _version(text: str) -> Version:
    try:
        return Version(text)
    except ValueError:
        return Version("0")


def rows(history: RoundHistory) -> Iterator[RoundRow]:
    """A row for each case, with its number in every build."""
    for key, room in history.rooms.items():
        sizes = [build.sizes[key] for build in history.builds if key in build.sizes]
        yield RoundRow(room=room, scenario=key[0], case=key[1], size=sizes[-1], numbers=tuple(build.total(key) for build in history.builds))


def steps(history: RoundHistory, margin: float, upstream: Sequence[UpstreamChange]) -> Iterator[RoundStep]:
    """Every change beyond the margin from one build to the next that has the case, with the functions behind it, and what is known of it
    in vLLM's own changes. Rounds of different sizes are no step."""
    for key in history.rooms:
        for before, after in pairwise(build for build in history.builds if key in build.rounds):
            was, now = before.numbers(key), after.numbers(key)
            base, candidate = sum(was.values()), sum(now.values())
            if before.sizes[key] != after.sizes[key] or abs(candidate - base) <= margin * base:
                continue
            changes = {name: now.get(name, 0) - was.get(name, 0) for name in {**was, **now}}
            behind = sorted(((line(name, 160), change) for name, change in changes.items() if change), key=lambda one: -abs(one[1]))
            known = between(upstream, key[0], METRIC, before.version, after.version)
            yield RoundStep(
                before=before.build,
                after=after.build,
                scenario=key[0],
                case=key[1],
                base=base,
                candidate=candidate,
                functions=tuple(behind),
                upstream=tuple(f"#{one.pull}: {one.words}" if one.pull else one.words for one in known),
            )
