"""Mixtures of two builds, tried in a scenario: the answers of a search, kept so that it goes on where it was ended.

A mixture is an overlay: a diff over the bad build (or the good one), whose trials are ordinary ones with their attestation and records.
A count takes one trial (here), a time pairs of them (`timed_mixtures`).
It is unresolved where it can't be made, crashes, or does other work than the two builds did.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from perfproof import store
from perfproof.analysis.stats.number_format import count
from perfproof.analysis.stats.share_interval import Share
from perfproof.analysis.trials import work_equivalence
from perfproof.analysis.trials.paired_trials import counts, latest
from perfproof.changes.blame.difference import Difference, Mixture, summary
from perfproof.changes.blame.search import Guilty, OutOfBudget, Side, Units
from perfproof.changes.blame.suspects import outputs_of, value_of
from perfproof.executor import AGAIN
from perfproof.model.base.errors import CannotRun, PerfproofError
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario
from perfproof.tracking.confirm_step import Measuring
from perfproof.tracking.released_scenario import NamedBuild, alone, trials

Say = Callable[[str], object]
MIXED = "mixture"
"""The name of a mixture's build."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One mixture: on which build, which units of the other, what it said. `share` is None where it is unresolved, for the reason `why`;
    `value` is its count, `measured` what is known of its share where it was timed, also where that is too little."""

    side: Side
    units: tuple[str, ...]
    share: float | None
    value: float | None
    why: str
    seconds: float
    measured: Share | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """That of the share; of counts both ends are the share itself. None where nothing is known."""
        if self.measured is not None:
            return (self.measured.low, self.measured.high) if math.isfinite(self.measured.low) else None
        return None if self.share is None else (self.share, self.share)

    @property
    def blocks(self) -> int:
        """The blocks that it was measured in."""
        return 1 if self.measured is None else self.measured.blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The two builds, measured: their builds by name, their counted trials, and the metric that shows the change."""

    good: NamedBuild
    bad: NamedBuild
    records: Mapping[str, Record]
    metric: str

    def value(self, which: str) -> float:
        value = value_of(self.records[which], self.metric)
        assert value is not None  # noqa: S101 (the count was chosen because both have it)
        return value


def counted(scenario: Scenario, build: NamedBuild, measuring: Measuring, folder: str) -> Record:
    """The counted trial of a scenario on a build, kept or made now; a busy machine does not spoil it. Raises what a build raises that can't
    be made."""
    made, place = alone(scenario, build), measuring.results / folder
    kept = latest(store.records_in(place)) if place.is_dir() else []
    there = next((one for one in kept if one.digest == made.digest and (counts(one) or one.status != "invalid")), None)
    for _ in range(0 if there else 1 + AGAIN):
        (there,) = trials([made], 1, measuring.seed, place, measuring.runners)
        store.append(place, there)
        if counts(there) or there.status != "invalid":
            break
    assert there is not None  # noqa: S101 (there is one, or one was made)
    return there


class Mixtures(ABC):
    """Asks mixtures for their share of the change; what each said is kept."""

    def __init__(self, ends: Ends, difference: Difference, measuring: Measuring, say: Say, left: Callable[[], float | None]) -> None:
        self._ends, self._difference = ends, difference
        self._measuring, self._say, self._left = measuring, say, left
        self._by_diff: dict[tuple[Side, str], Tried] = {}
        self.trials = 0

    @property
    def tried(self) -> tuple[Tried, ...]:
        """The mixtures that were tried, in their order."""
        return tuple(self._by_diff.values())

    def ask(self, side: Side, units: Units) -> float | None:
        """The share of the change; see `search`. Raises `OutOfBudget` where no further trial may begin."""
        mixture = self._difference.mixture(side, units)
        if not mixture.diff:
            return 0.0
        key = side, named(mixture)
        one = self._by_diff.get(key)
        if one is None or self._open(one):
            if not mixture.fault and self._left() == 0:
                raise OutOfBudget
            self._by_diff[key] = one = self._tried(side, units, mixture, key[1])
            self.trials += not mixture.fault
            self._say(f"  {told(one)}")
        return self._answer(one)

    def beside_packages(self, side: Side, build: NamedBuild, packages: Sequence[str]) -> tuple[Tried, float | None]:
        """What the build of a side says beside other packages than its own, and the share of the change as a search is told it. Raises
        `OutOfBudget`."""
        name = f"packages-{side}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:16]}"
        one = self._by_diff.get((side, name))
        if one is None or self._open(one):
            if self._left() == 0:
                raise OutOfBudget
            self._by_diff[side, name] = one = self._on(side, tuple(packages), build, name)
            self._say(f"  {told(one)}")
        return one, self._answer(one)

    def told(self, side: Side, units: Units) -> Tried | None:
        """What a mixture said; None where it was not asked."""
        mixture = self._difference.mixture(side, units)
        return self._by_diff.get((side, named(mixture)))

    def build(self, side: Side, mixture: Mixture, name: str) -> NamedBuild:
        """The build of a mixture; its diff lies below the results. A mixture of nothing is the build that it is a mixture of."""
        base = self._base(side)
        if not mixture.diff:
            return base
        file = self._measuring.results / "mixtures" / f"{name}.diff"
        data = mixture.diff.encode("utf-8", "surrogateescape")
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_file() or file.read_bytes() != data:
            file.write_bytes(data)
        doc: dict[str, Any] = {"kind": "overlay", "base": base.name, "diff": str(file.resolve())}
        return NamedBuild(word=f"{base.word}+{file.name}", name=MIXED, docs={**base.docs, MIXED: doc})

    def _base(self, side: Side) -> NamedBuild:
        return self._ends.bad if side == "back" else self._ends.good

    def _tried(self, side: Side, units: Units, mixture: Mixture, name: str) -> Tried:
        ordered = tuple(sorted(units))
        if mixture.fault:
            return Tried(side=side, units=ordered, share=None, value=None, why=mixture.fault, seconds=0.0)
        return self._on(side, ordered, self.build(side, mixture, name), f"{side}-{name}")

    def _on(self, side: Side, units: tuple[str, ...], build: NamedBuild, name: str) -> Tried:
        began = time.monotonic()
        try:
            found = self._measured(side, units, build, name)
        except PerfproofError as error:
            why, took = first_line(str(error)), time.monotonic() - began
            return Tried(side=side, units=units, share=None, value=None, why=why, seconds=took)
        return dataclasses.replace(found, seconds=max(found.seconds, time.monotonic() - began))

    @abstractmethod
    def _measured(self, side: Side, units: tuple[str, ...], build: NamedBuild, name: str) -> Tried:
        """What a mixture says, from its own folder of that name. Raises what a build raises that can't be made, and `OutOfBudget` where the
        time is over before it has said enough."""

    @abstractmethod
    def measured(self, one: Guilty, support: Units) -> Guilty:
        """The same with its share as it was measured, and the interval of that; `support` are units that it does not run without."""

    @abstractmethod
    def _answer(self, one: Tried) -> float | None:
        """The share as the search is told it."""

    @abstractmethod
    def _open(self, one: Tried) -> bool:
        """Whether more trials of it would tell more."""


class CountedMixtures(Mixtures):
    """Shares by a count: a trial each."""

    def __init__(
        self, scenario: Scenario, ends: Ends, difference: Difference, measuring: Measuring, say: Say, left: Callable[[], float | None]
    ) -> None:
        super().__init__(ends, difference, measuring, say, left)
        self._scenario = scenario

    def _measured(self, side: Side, units: tuple[str, ...], build: NamedBuild, name: str) -> Tried:
        record = counted(self._scenario, build, self._measuring, f"mixtures/{name}")
        lost = partial(Tried, side=side, units=units, share=None, value=None, seconds=record.took)
        if not counts(record):
            return lost(why=first_line(record.reason) or record.status)
        if other := other_work(self._ends.records["bad" if side == "back" else "good"], record, self._ends.metric):
            return lost(why=other)
        value = value_of(record, self._ends.metric)
        if value is None:
            return lost(why=f"its trial left no {self._ends.metric}")
        share = self._share(side, value)
        return Tried(side=side, units=units, share=share, value=value, why="", seconds=record.took)

    def measured(self, one: Guilty, support: Units) -> Guilty:
        return one if one.share is None else dataclasses.replace(one, interval=(one.share, one.share))

    def _share(self, side: Side, value: float) -> float:
        good, bad = self._ends.value("good"), self._ends.value("bad")
        return (bad - value) / (bad - good) if side == "back" else (value - good) / (bad - good)

    def _answer(self, one: Tried) -> float | None:
        return one.share

    def _open(self, one: Tried) -> bool:
        return False


def named(mixture: Mixture) -> str:
    """A mixture's name, from its diff."""
    return hashlib.sha256(mixture.diff.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def other_work(base: Record, record: Record, metric: str) -> str:
    """What a trial did otherwise than that of the build which it is a mixture of; "" where it did the same work."""
    if unequal := work_equivalence.unequal({"the build": base.work, "the mixture": record.work}):
        return unequal
    return "" if outputs_of(base, metric) == outputs_of(record, metric) else "its requests were answered with other tokens"


def first_line(text: str) -> str:
    """The first line of a reason, shortened."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:300]


def told(one: Tried) -> str:
    """A mixture in a line."""
    where = "taken back" if one.side == "back" else "brought in"
    said = f"unresolved: {one.why}" if one.share is None else f"{_amount(one)} of the change {'gone' if one.side == 'back' else 'there'}"
    return f"{count(len(one.units), 'unit')} {where} ({summary(one.units)}): {said} ({one.seconds:.0f} s)"


def _amount(one: Tried) -> str:
    assert one.share is not None  # noqa: S101 (the caller looked)
    low, high = one.interval or (one.share, one.share)
    return f"{100 * one.share:.4g} %" + (f" [{100 * low:.3g}, {100 * high:.3g}]" if low != high else "")


def measured_ends(scenario: Scenario, good: NamedBuild, bad: NamedBuild, measuring: Measuring) -> dict[str, Record]:
    """The counted trials of both builds. Raises `CannotRun` where one left no counts."""
    records: dict[str, Record] = {}
    for which, build in (("good", good), ("bad", bad)):
        record = counted(scenario, build, measuring, which)
        if not counts(record):
            raise CannotRun(f"--{which} {build.word}: {record.reason or record.status}")
        records[which] = record
    if unequal := other_work(records["good"], records["bad"], ""):
        raise CannotRun(f"{good.word} and {bad.word}: {unequal}")
    return records
