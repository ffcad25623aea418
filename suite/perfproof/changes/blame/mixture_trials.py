"""Mixtures of two builds, each counted in one trial of a scenario: the answers of a search, kept so that it goes on where it was ended.

A mixture is an overlay: a diff over the bad build (or the good one), whose trial is an ordinary one with its attestation and its record.
It is unresolved where it can't be made, crashes, or does other work than the two builds did.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from perfproof import store
from perfproof.analysis.trials import work_equivalence
from perfproof.analysis.trials.paired_trials import counts, latest
from perfproof.changes.blame.difference import Difference, Mixture, summary
from perfproof.changes.blame.search import OutOfBudget, Side, Units
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
    `value` is the count."""

    side: Side
    units: tuple[str, ...]
    share: float | None
    value: float | None
    why: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The two builds, measured: their builds by name, their trials and where these lie, and the count that shows the change."""

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


class CountedMixtures:
    """Asks mixtures for their share of the change, a trial each."""

    def __init__(
        self, scenario: Scenario, ends: Ends, difference: Difference, measuring: Measuring, say: Say, left: Callable[[], float | None]
    ) -> None:
        self._scenario, self._ends, self._difference = scenario, ends, difference
        self._measuring, self._say, self._left = measuring, say, left
        self._by_diff: dict[tuple[Side, str], Tried] = {}
        self.tried: list[Tried] = []
        self.trials = 0

    def ask(self, side: Side, units: Units) -> float | None:
        """The share of the change; see `search`. Raises `OutOfBudget` where no further trial may begin."""
        mixture = self._difference.mixture(side, units)
        if not mixture.diff:
            return 0.0
        key = side, _named(mixture)
        if key not in self._by_diff:
            if not mixture.fault and self._left() == 0:
                raise OutOfBudget
            self._by_diff[key] = one = self._tried(side, units, mixture, key[1])
            self.tried.append(one)
            self.trials += not mixture.fault
            self._say(f"  {told(one)}")
        return self._by_diff[key].share

    def value(self, side: Side, units: Units) -> float | None:
        """The count of a mixture that was asked."""
        mixture = self._difference.mixture(side, units)
        return self._by_diff[side, _named(mixture)].value

    def build(self, side: Side, mixture: Mixture, name: str) -> NamedBuild:
        """The build of a mixture; its diff lies below the results."""
        base = self._ends.bad if side == "back" else self._ends.good
        file = self._measuring.results / "mixtures" / f"{name}.diff"
        data = mixture.diff.encode("utf-8", "surrogateescape")
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_file() or file.read_bytes() != data:
            file.write_bytes(data)
        doc: dict[str, Any] = {"kind": "overlay", "base": base.name, "diff": str(file.resolve())}
        return NamedBuild(word=f"{base.word}+{file.name}", name=MIXED, docs={**base.docs, MIXED: doc})

    def _tried(self, side: Side, units: Units, mixture: Mixture, name: str) -> Tried:
        began = time.monotonic()
        value, why, took = (None, mixture.fault, 0.0) if mixture.fault else self._measured(side, mixture, f"{side}-{name}")
        share = None if value is None else self._share(side, value)
        return Tried(side=side, units=tuple(sorted(units)), share=share, value=value, why=why, seconds=max(took, time.monotonic() - began))

    def _share(self, side: Side, value: float) -> float:
        good, bad = self._ends.value("good"), self._ends.value("bad")
        return (bad - value) / (bad - good) if side == "back" else (value - good) / (bad - good)

    def _measured(self, side: Side, mixture: Mixture, name: str) -> tuple[float | None, str, float]:
        """The count of a mixture, or why there is none, and the seconds that its trial took."""
        try:
            record = counted(self._scenario, self.build(side, mixture, name), self._measuring, f"mixtures/{name}")
        except PerfproofError as error:
            return None, first_line(str(error)), 0.0
        if not counts(record):
            return None, first_line(record.reason) or record.status, record.took
        if other := other_work(self._ends.records["bad" if side == "back" else "good"], record, self._ends.metric):
            return None, other, record.took
        value = value_of(record, self._ends.metric)
        return value, "" if value is not None else f"its trial left no {self._ends.metric}", record.took


def _named(mixture: Mixture) -> str:
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
    said = (
        f"unresolved: {one.why}"
        if one.share is None
        else f"{100 * one.share:.4g} % of the change {'gone' if one.side == 'back' else 'there'}"
    )
    number = f"{len(one.units)} units" if len(one.units) != 1 else "1 unit"
    return f"{number} {where} ({summary(one.units)}): {said} ({one.seconds:.0f} s)"


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
