"""`perfproof bisect`: which build of a row brought a change, when measuring is noisy and some builds can't be tested.

In order: both ends are measured, and if they do not differ there is nothing to find; then the build in the middle of what is left is
asked, until none is. A count needs one trial a build and is exact. A time is asked by the sequential paired test of the good build against
the one in the middle, with half of the whole change as its margin, so that it is either as good or as bad; a build that
stays inconclusive is measured anew with more blocks, and if that settles nothing the search goes on beside it: it is never guessed. Builds
that can't be made or measured are skipped and named. Everything is kept, so that the same command goes on after a kill.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof import store
from perfproof.analysis.stats.noisy_bisection import Answer, bounds, next_place, steps_left
from perfproof.analysis.stats.number_format import count
from perfproof.analysis.trials.paired_trials import latest
from perfproof.analysis.verdicts.exact_counts import judge_witness
from perfproof.builds.install.available_releases import Releases
from perfproof.builds.overlays import git_changes
from perfproof.executor import AGAIN
from perfproof.model.base.errors import BadInput, CannotRun, PerfproofError
from perfproof.model.records.record import Record
from perfproof.model.scenarios.build import ReleaseBuild
from perfproof.model.scenarios.metrics import is_timed, metric
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.tracking.confirm_step import Measuring, halfway, paired
from perfproof.tracking.released_scenario import Asked, Say, against, alone, asked_commit, build_of, trials

WIDER = 48
"""Blocks of the second try of a build that was inconclusive."""
ENDS = "ends"
"""The folder of the run of both ends against each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one build turned out to be, with the reason in words."""

    build: Asked
    answer: Answer
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisected:
    """What a bisection found from `start`, which is good: `first` is the first build with the change and `last` the last without it.

    With `open` builds between them, whose answers are not known, it is one of those or `first`. `reason` is the verdict on `first`,
    `whole` that on the last build of the row, both against `start`.
    """

    metric: str
    change: Outcome
    start: Asked
    last: Asked
    first: Asked
    open: tuple[Told, ...]
    reason: str
    steps: tuple[Told, ...]
    whole: str

    @property
    def found(self) -> bool:
        return not self.open


# --- the rows -------------------------------------------------------------------------------------------------


def release_row(
    good: Asked, bad: Asked, scenario: Scenario, releases: Callable[[str], Releases], here: Callable[[str], Asked]
) -> list[Asked]:
    """The releases from good to bad, both of them included; raises `BadInput` for ends that are no releases of one distribution.

    `releases` gives what the index has of a distribution, `here` makes a build of a spec.
    """
    ends = [build_of(alone(scenario, end)) for end in (good, bad)]
    first, last = ends
    if not (isinstance(first, ReleaseBuild) and isinstance(last, ReleaseBuild) and first.distribution == last.distribution):
        raise BadInput("--good and --bad: expected two releases of one distribution; commits of a clone are bisected with --git")
    known = releases(first.distribution).between(first.version, last.version)
    row = [here(f"{first.distribution}=={version}") for version in known]
    missing = [end.version for end in (first, last) if end.version not in known]
    if missing or len(row) < 2:
        raise BadInput(
            f"--good {first.version} --bad {last.version}: {', '.join(missing) or 'no release'} is not in the index in this order"
        )
    return row


def commit_row(repo: str, good: str, bad: str, base: Asked, made_from: str) -> list[Asked]:
    """The commits from good to bad as overlays on a base that was made from a commit; where nothing differs, the base itself."""
    origin = git_changes.resolved(repo, made_from)
    found = [git_changes.resolved(repo, good), *git_changes.commits(repo, good, bad)]
    return [
        Asked(word=commit[:12], name=base.name, docs=base.docs) if commit == origin else asked_commit(Path(repo), commit, base, origin)
        for commit in found
    ]


def asked_metric(scenario: Scenario, wanted: str | None) -> str:
    """The metric to bisect by: the one asked for, else the first count among the primary ones, else the first of them."""
    names = [choice.name for choice in scenario.metrics]
    if wanted is not None and wanted not in names:
        raise BadInput(f"--metric {wanted}: {scenario.name} has {', '.join(names)}")
    primaries = [choice.name for choice in scenario.primaries]
    return wanted or next((name for name in primaries if not is_timed(name)), primaries[0])


def folder_of(scenario: Scenario, row: Sequence[Asked], name: str) -> str:
    """The results folder of a bisection: another row, metric or workload is another one."""
    said = json.dumps([scenario.digest, name, row[0].word, row[-1].word])
    return f"{scenario.name}-{row[0].slug}-{row[-1].slug}-{hashlib.sha256(said.encode()).hexdigest()[:6]}"


# --- the search -----------------------------------------------------------------------------------------------


def bisect(scenario: Scenario, row: Sequence[Asked], name: str, measuring: Measuring, say: Say) -> Bisected:
    """Finds the first build of `row` (good first, bad last) in which the metric `name` changed as it did from the first to the last.

    Raises `CannotRun` where the ends can't be measured or do not differ.
    """
    of = (scenario, row, name, measuring, say)
    judge: _Counts | _Times = _Times(*of) if is_timed(name) else _Counts(*of)
    change, whole = judge.ends()
    say(f"{scenario.name}, {name}: {row[-1].word} {change.value} against {row[0].word}: {whole}")
    answers: dict[int, Answer] = {}
    told: list[Told] = []
    say(f"{count(len(row) - 2, 'build')} between them, at most {steps_left(len(row), answers)} to test unless some can't be")
    while (place := next_place(len(row), answers)) is not None or (place := _undecided(len(row), answers, judge)) is not None:
        found = judge.asked(place, change)
        answers[place] = found.answer
        told.append(found)
        say(f"  {found.build.word}: {found.answer}: {found.reason}")
    ends = bounds(len(row), answers)
    reasons = {row.index(one.build): one for one in told}
    return Bisected(
        metric=name,
        change=change,
        start=row[0],
        last=row[ends.good],
        first=row[ends.bad],
        open=tuple(reasons[place] for place in ends.open),
        reason=reasons[ends.bad].reason if ends.bad in reasons else whole,
        steps=tuple(told),
        whole=whole,
    )


def _undecided(places: int, answers: dict[int, Answer], judge: _Counts | _Times) -> int | None:
    """An inconclusive build that still matters and has not been measured with more blocks: it is, before the search gives up."""
    ends = bounds(places, answers)
    again = [place for place in ends.open if answers[place] == "undecided" and judge.widen(place)]
    middle = (ends.good + ends.bad) / 2
    return min(again, key=lambda place: abs(place - middle)) if again else None


def words(found: Bisected, repo: str | None = None) -> list[str]:
    """The answer in sentences; `repo` is the clone whose commits these are."""
    first = f"{found.first.word} ({git_changes.subject(repo, found.first.word)})" if repo else found.first.word
    told = f"{found.metric} {found.change.value}"
    if found.found:
        said = [f"{told} first in {first}; {found.last.word}, the one before, is good"]
    else:
        said = [f"{told} between {found.last.word}, which is good, and {first}, which is bad; these could not be told:"]
        said += [f"  {one.build.word}: {one.answer}: {one.reason}" for one in found.open]
    said.append(f"{found.first.word} against {found.start.word}: {found.reason}")
    if found.reason != found.whole:
        said.append(f"over the whole row: {found.whole}")
    final = {one.build.word: one for one in found.steps}
    elsewhere = [one for one in final.values() if one.answer in ("skipped", "undecided") and one not in found.open]
    return said + [f"elsewhere {one.build.word} was {one.answer}: {one.reason}" for one in elsewhere]


def document(scenario: Scenario, found: Bisected) -> dict[str, Any]:
    """What `bisect --json` prints."""
    return {
        "schema": 1,
        "scenario": scenario.name,
        "metric": found.metric,
        "change": found.change.value,
        "found": found.found,
        "first": found.first.word,
        "last_before": found.last.word,
        "reason": found.reason,
        "whole": found.whole,
        "open": [_step(one) for one in found.open],
        "steps": [_step(one) for one in found.steps],
    }


def _step(one: Told) -> dict[str, str]:
    return {"build": one.build.word, "answer": one.answer, "reason": one.reason}


class _Counts:
    """Answers by exact counts: one trial a build."""

    def __init__(self, scenario: Scenario, row: Sequence[Asked], name: str, measuring: Measuring, say: Say) -> None:
        self._scenario, self._row, self._name, self._measuring = scenario, row, name, measuring
        self._better = metric(name).better

    def ends(self) -> tuple[Outcome, str]:
        """What the last build's count is against the first's. Raises `CannotRun` where one leaves none or they are equal."""
        values = [self._value(self._row[place]) for place in (0, -1)]
        lost = [f"{self._row[place].word}: {value}" for place, value in zip((0, -1), values, strict=True) if isinstance(value, str)]
        if lost:
            raise CannotRun(f"the ends can't be measured: {'; '.join(lost)}")
        outcome, reason = self._judged(*values)
        if outcome is Outcome.EQUIVALENT:
            raise CannotRun(
                f"{self._name} is the same in {self._row[0].word} and {self._row[-1].word} ({reason}): there is nothing to find"
            )
        return outcome, reason

    def asked(self, place: int, change: Outcome) -> Told:
        """Whether the build at a place has the change already: any in the same direction, down to the last count."""
        build = self._row[place]
        value = self._value(build)
        if isinstance(value, str):
            return Told(build=build, answer="skipped", reason=value)
        outcome, reason = self._judged(self._value(self._row[0]), value)
        return Told(build=build, answer="bad" if outcome is change else "good", reason=reason)

    def widen(self, place: int) -> bool:
        """A count stays what it is."""
        return False

    def _judged(self, before: float | str, after: float | str) -> tuple[Outcome, str]:
        assert not isinstance(before, str)  # noqa: S101 (a reason is no count; the callers saw to it)
        assert not isinstance(after, str)  # noqa: S101
        row = metric(self._name)
        found = judge_witness([before], [after], row.better, unit="" if row.unit == "1" else row.unit)
        return found.outcome, found.reason

    def _value(self, build: Asked) -> float | str:
        """The count of a build, from the trial that is there or a new one; in words why there is none."""
        try:
            record = self._record(build)
        except PerfproofError as error:
            return str(error)
        if record.status != "ok":
            return record.reason.splitlines()[0] if record.reason else record.status
        value = record.witnesses.get(self._name)
        return f"its trial left no {self._name}" if value is None else float(value)

    def _record(self, build: Asked) -> Record:
        scenario, folder = alone(self._scenario, build), self._measuring.results / build.slug
        kept = latest(store.records_in(folder))
        there = next((record for record in kept if record.digest == scenario.digest and record.status != "invalid"), None)
        for _ in range(0 if there else 1 + AGAIN):
            (there,) = trials([scenario], 1, self._measuring.seed, folder, self._measuring.runners)
            store.append(folder, there)
            if there.status != "invalid":
                break
        assert there is not None  # noqa: S101 (there is one, or one was made)
        return there


class _Times:
    """Answers by the sequential paired test of the first build against the one that is asked."""

    def __init__(self, scenario: Scenario, row: Sequence[Asked], name: str, measuring: Measuring, say: Say) -> None:
        self._scenario, self._row, self._name, self._measuring, self._say = scenario, row, name, measuring, say
        self._margin = next(choice.margin for choice in scenario.metrics if choice.name == name)
        self._wider: set[int] = set()

    def ends(self) -> tuple[Outcome, str]:
        """The verdict on the last build against the first. Raises `CannotRun` where it is no change."""
        found = self._paired(self._row[-1], ENDS, None)
        if found.verdict not in (Outcome.REGRESSED, Outcome.IMPROVED) or found.effect is None:
            said = found.verdict.value if found.verdict else "not judged"
            raise CannotRun(
                f"{self._name} of {self._row[-1].word} is {said} against {self._row[0].word}, no change to find: {found.reason}"
            )
        self._margin = halfway(found.effect)
        return found.verdict, found.reason

    def asked(self, place: int, change: Outcome) -> Told:
        """Whether the build at a place has the change: half of it or more. Inconclusive is undecided, whatever the estimate."""
        build = self._row[place]
        blocks = WIDER if place in self._wider else None
        try:
            found = self._paired(build, build.slug + ("-wider" if blocks else ""), blocks)
        except PerfproofError as error:
            return Told(build=build, answer="skipped", reason=str(error))
        answers: dict[Outcome | None, Answer] = {change: "bad", Outcome.INCONCLUSIVE: "undecided", Outcome.UNTESTABLE: "skipped"}
        return Told(build=build, answer=answers.get(found.verdict, "good"), reason=found.reason)

    def widen(self, place: int) -> bool:
        """Has a place measured anew with more blocks, once; False where that was done."""
        if place in self._wider:
            return False
        self._wider.add(place)
        self._say(f"  {self._row[place].word} was inconclusive and matters: measured anew with {WIDER} blocks")
        return True

    def _paired(self, build: Asked, folder: str, blocks: int | None) -> Judged:
        pair = against(self._scenario, self._row[0], build, metrics={self._name: self._margin}, blocks=blocks)
        return paired(pair, self._measuring, folder).judged[0]
