"""`perfproof bisect`: which build in a row brought a change, when measurements are noisy and some builds can't be tested.

In order: both ends are measured; if they do not differ there is nothing to find. Then the build in the middle of the remaining ones is
tested, until none is left. A count needs one trial per build and is exact. A time needs a sequential paired test of the good build against
the middle one, with half of the whole change as its margin, so that the build counts as good or bad. An inconclusive build is measured
again with more blocks; if it stays open, the search goes on without it and never guesses. Builds that can't be made or measured are skipped
and named. Everything is kept, so the same command continues after a kill.
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
from perfproof.analysis.trials.counted_rounds import COUNTED, rounds
from perfproof.analysis.trials.paired_trials import latest
from perfproof.analysis.verdicts.exact_counts import judge_count, judge_witness
from perfproof.builds.install.available_releases import Releases
from perfproof.builds.overlays import git_changes
from perfproof.builds.overlays.commit_rows import with_the_files_of
from perfproof.executor import AGAIN
from perfproof.model.base.errors import BadInput, CannotRun, PerfproofError
from perfproof.model.base.first_words import first_words
from perfproof.model.records.counts import PhaseWork
from perfproof.model.records.record import Record
from perfproof.model.scenarios.build import ReleaseBuild
from perfproof.model.scenarios.metrics import base_name, is_timed, metric
from perfproof.model.scenarios.scenario import COUNT_MARGIN, Scenario
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting
from perfproof.tracking.confirm_step import Measuring, halfway, paired, taking_turns
from perfproof.tracking.console import blame_offer
from perfproof.tracking.released_scenario import NamedBuild, Say, against, alone, build_of, commit_build, trials

WIDER = 48
"""Blocks of the second test of an inconclusive build."""
ENDS = "ends"
"""The folder of the run of both ends against each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """The answer for one build, with the reason in words."""

    build: NamedBuild
    answer: Answer
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisected:
    """The result of a bisection from `start`, which is good: `first` is the first build with the change, `last` the last without it.

    Where `open` builds without an answer lie between them, the change came with one of those or with `first`. `reason` is the verdict on
    `first`, `whole` the one on the last build of the row, both against `start`.
    """

    metric: str
    change: Outcome
    start: NamedBuild
    last: NamedBuild
    first: NamedBuild
    open: tuple[Tested, ...]
    reason: str
    steps: tuple[Tested, ...]
    whole: str

    @property
    def found(self) -> bool:
        return not self.open


# --- the rows -------------------------------------------------------------------------------------------------


def release_row(
    good: NamedBuild, bad: NamedBuild, scenario: Scenario, releases: Callable[[str], Releases], here: Callable[[str], NamedBuild]
) -> list[NamedBuild]:
    """The releases from good to bad, including both. Raises `BadInput` for ends that are not releases of one distribution.

    `releases` gives the releases of a distribution in the index, `here` makes a build from a spec.
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


def commit_row(repo: str, good: str, bad: str, base: NamedBuild, made_from: str) -> list[NamedBuild]:
    """The commits from good to bad as overlays on a base built from the commit `made_from`; what has the base's files is the base."""
    origin, row = git_changes.resolved(repo, made_from), [git_changes.resolved(repo, good), *git_changes.commits(repo, good, bad)]
    same = with_the_files_of(repo, origin, row)
    return [_at(repo, commit, base, origin, commit in same) for commit in row]


def build_at(repo: str, revision: str, base: NamedBuild, made_from: str) -> NamedBuild:
    """A commit as an overlay on a base built from the commit `made_from`; the base itself where no file that vLLM is made of differs.
    Raises `BadInput` for a commit that does not exist."""
    commit, origin = (git_changes.resolved(repo, one) for one in (revision, made_from))
    return _at(repo, commit, base, origin, git_changes.same_files(repo, origin, commit))


def _at(repo: str, commit: str, base: NamedBuild, origin: str, same: bool) -> NamedBuild:
    return NamedBuild(word=commit[:12], name=base.name, docs=base.docs) if same else commit_build(Path(repo), commit, base, origin)


def asked_metric(scenario: Scenario, wanted: str | None) -> str:
    """The metric to bisect by: the one asked for, also one that a counted round leaves besides the scenario's own, else the first count
    among the primary ones, else the first of them."""
    names, case = [choice.name for choice in scenario.metrics], scenario.workload.case
    besides = COUNTED if scenario.workload.counted else ()
    if wanted is not None and wanted not in names and not (case and base_name(wanted) in names) and base_name(wanted) not in besides:
        raise BadInput(f"--metric {wanted}: {scenario.name} has {', '.join(names)}")
    primaries = [choice.name for choice in scenario.primaries]
    found = wanted or next((name for name in primaries if not is_timed(name)), primaries[0])
    return f"{found}@{case}" if case and "@" not in found else found


def folder_of(scenario: Scenario, row: Sequence[NamedBuild], name: str) -> str:
    """The results folder of a bisection; another row, metric or workload has another folder."""
    identity = json.dumps([scenario.digest, name, row[0].word, row[-1].word])
    return f"{scenario.name}-{row[0].slug}-{row[-1].slug}-{hashlib.sha256(identity.encode()).hexdigest()[:6]}"


# --- the search -----------------------------------------------------------------------------------------------


def bisect(scenario: Scenario, row: Sequence[NamedBuild], name: str, measuring: Measuring, say: Say) -> Bisected:
    """Finds the first build of `row` (good first, bad last) in which the metric `name` changed as it did over the whole row.

    Raises `CannotRun` where the ends can't be measured or do not differ.
    """
    of = (scenario, row, name, measuring, say)
    judge: _Counts | _Times = _Times(*of) if is_timed(name) else _Counts(*of)
    change, whole = judge.ends()
    say(f"{scenario.name}, {name}: {row[-1].word} {_verb(name, change)} against {row[0].word}: {whole}")
    answers: dict[int, Answer] = {}
    steps: list[Tested] = []
    say(f"{count(len(row) - 2, 'build')} between them, at most {steps_left(len(row), answers)} to test unless some can't be")
    while (place := next_place(len(row), answers)) is not None or (place := _undecided(len(row), answers, judge)) is not None:
        tested = judge.test(place, change)
        answers[place] = tested.answer
        steps.append(tested)
        say(f"  {tested.build.word}: {tested.answer}: {tested.reason}")
    ends = bounds(len(row), answers)
    reasons = {row.index(one.build): one for one in steps}
    return Bisected(
        metric=name,
        change=change,
        start=row[0],
        last=row[ends.good],
        first=row[ends.bad],
        open=tuple(reasons[place] for place in ends.open),
        reason=reasons[ends.bad].reason if ends.bad in reasons else whole,
        steps=tuple(steps),
        whole=whole,
    )


def _undecided(places: int, answers: dict[int, Answer], judge: _Counts | _Times) -> int | None:
    """An inconclusive build that still matters and can be measured with more blocks before the search gives up; None if there is none."""
    ends = bounds(places, answers)
    again = [place for place in ends.open if answers[place] == "undecided" and judge.widen(place)]
    middle = (ends.good + ends.bad) / 2
    return min(again, key=lambda place: abs(place - middle)) if again else None


def _verb(metric: str, change: Outcome) -> str:
    """The change as a verb: "regressed"; of a count of the host's work "does more Python work"."""
    counted = formatting.of_host(metric, change, "")
    return f"does {counted}" if counted else change.value


def words(scenario: Scenario, result: Bisected, clone: Sequence[str] = ()) -> list[str]:
    """The answer in sentences; `clone` is the folder whose commits these are, the build that they lie on, and the commit that this was
    made from."""
    first = f"{result.first.word} ({git_changes.subject(clone[0], result.first.word)})" if clone else result.first.word
    counted = formatting.of_host(result.metric, result.change, "")
    changed = f"{result.metric}: {counted}" if counted else f"{result.metric} {result.change.value}"
    if result.found:
        lines = [f"{changed} first in {first}; {result.last.word}, the one before, is good"]
    else:
        lines = [
            f"{changed} between {result.last.word}, which is good, and {first}, which is bad; the builds between could not be classified:"
        ]
        lines += [f"  {one.build.word}: {one.answer}: {one.reason}" for one in result.open]
    lines.append(f"{result.first.word} against {result.start.word}: {result.reason}")
    if result.reason != result.whole:
        lines.append(f"over the whole row: {result.whole}")
    final = {one.build.word: one for one in result.steps}
    elsewhere = [one for one in final.values() if one.answer in ("skipped", "undecided") and one not in result.open]
    lines += [f"elsewhere {one.build.word} was {one.answer}: {one.reason}" for one in elsewhere]
    return [
        *lines,
        blame_offer(scenario.name, result.last.word, result.first.word, result.metric, clone=clone),
    ]


def document(scenario: Scenario, result: Bisected) -> dict[str, Any]:
    """What `bisect --json` prints."""
    return {
        "schema": 1,
        "scenario": scenario.name,
        "metric": result.metric,
        "change": result.change.value,
        "found": result.found,
        "first": result.first.word,
        "last_before": result.last.word,
        "reason": result.reason,
        "whole": result.whole,
        "open": [_step(one) for one in result.open],
        "steps": [_step(one) for one in result.steps],
    }


def _step(one: Tested) -> dict[str, str]:
    return {"build": one.build.word, "answer": one.answer, "reason": one.reason}


class _Counts:
    """Answers by exact counts: one trial per build."""

    def __init__(self, scenario: Scenario, row: Sequence[NamedBuild], name: str, measuring: Measuring, say: Say) -> None:
        self._scenario, self._row, self._name, self._measuring = scenario, row, name, measuring
        self._margin = scenario.count_margin(name)

    def ends(self) -> tuple[Outcome, str]:
        """The verdict on the last build's count against the first's. Raises `CannotRun` where one has no count or they are equal."""
        values = [self._value(self._row[place]) for place in (0, -1)]
        lost = [f"{self._row[place].word}: {value}" for place, value in zip((0, -1), values, strict=True) if isinstance(value, str)]
        if lost:
            raise CannotRun(f"the ends can't be measured: {'; '.join(lost)}")
        outcome, reason = self._judged(*values)
        if outcome is Outcome.UNTESTABLE:
            raise CannotRun(f"the ends can't be compared: {reason}")
        if outcome in (Outcome.EQUIVALENT, Outcome.IDENTICAL):
            raise CannotRun(
                f"{self._name} is the same in {self._row[0].word} and {self._row[-1].word} ({reason}): there is nothing to find"
            )
        return outcome, reason

    def test(self, place: int, change: Outcome) -> Tested:
        """Whether the build at a place has the change already: any change of its count in the same direction."""
        build = self._row[place]
        value = self._value(build)
        if isinstance(value, str):
            return Tested(build=build, answer="skipped", reason=value)
        outcome, reason = self._judged(self._value(self._row[0]), value)
        answers: dict[Outcome, Answer] = {change: "bad", Outcome.UNTESTABLE: "skipped"}
        return Tested(build=build, answer=answers.get(outcome, "good"), reason=reason)

    def widen(self, place: int) -> bool:
        """A count does not change with more trials."""
        return False

    def _judged(self, before: float | PhaseWork | str, after: float | PhaseWork | str) -> tuple[Outcome, str]:
        row = metric(self._name)
        if isinstance(before, PhaseWork) and isinstance(after, PhaseWork):
            which = next(each for each in COUNTED if each == row.name)
            of_rounds = judge_count([(before, after)], which, self._margin or COUNT_MARGIN).verdict
            return of_rounds.outcome, of_rounds.reason
        assert isinstance(before, float)  # noqa: S101 (a reason is no count; the callers saw to it)
        assert isinstance(after, float)  # noqa: S101
        found = judge_witness([before], [after], row.better, unit="" if row.unit == "1" else row.unit, margin=self._margin)
        less = row.kind == "count" and found.outcome is Outcome.IMPROVED
        return Outcome.LESS if less else found.outcome, found.reason

    def _value(self, build: NamedBuild) -> float | PhaseWork | str:
        """The count of a build, or the counted round that has it, from an existing or a new trial; or a sentence that says why there is
        none."""
        try:
            record = self._record(build)
        except PerfproofError as error:
            return str(error)
        if record.status != "ok":
            return first_words(record.reason) if record.reason else record.status
        if self._name in record.witnesses:
            return float(record.witnesses[self._name])
        work = rounds(record).get(self._name.partition("@")[2])
        return f"its trial left no {self._name}" if work is None else work

    def _record(self, build: NamedBuild) -> Record:
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
    """Answers by the sequential paired test of the first build against the tested one."""

    def __init__(self, scenario: Scenario, row: Sequence[NamedBuild], name: str, measuring: Measuring, say: Say) -> None:
        self._row, self._name, self._say = row, name, say
        self._scenario, self._measuring = taking_turns(scenario, measuring)
        self._margin = next(choice.margin for choice in scenario.metrics if choice.name == name)
        self._wider: set[int] = set()

    def ends(self) -> tuple[Outcome, str]:
        """The verdict on the last build against the first. Raises `CannotRun` where there is no change."""
        judged = self._paired(self._row[-1], ENDS, None)
        if judged.verdict not in (Outcome.REGRESSED, Outcome.IMPROVED) or judged.effect is None:
            verdict = judged.verdict.value if judged.verdict else "not judged"
            raise CannotRun(
                f"{self._name} of {self._row[-1].word} is {verdict} against {self._row[0].word}, no change to find: {judged.reason}"
            )
        self._margin = halfway(judged.effect)
        return judged.verdict, judged.reason

    def test(self, place: int, change: Outcome) -> Tested:
        """Whether the build at a place has at least half of the change. An inconclusive verdict is undecided, whatever the estimate."""
        build = self._row[place]
        blocks = WIDER if place in self._wider else None
        try:
            judged = self._paired(build, build.slug + ("-wider" if blocks else ""), blocks)
        except PerfproofError as error:
            return Tested(build=build, answer="skipped", reason=str(error))
        answers: dict[Outcome | None, Answer] = {change: "bad", Outcome.INCONCLUSIVE: "undecided", Outcome.UNTESTABLE: "skipped"}
        return Tested(build=build, answer=answers.get(judged.verdict, "good"), reason=judged.reason)

    def widen(self, place: int) -> bool:
        """Has a place measured again with more blocks, once. Returns False if that was done already."""
        if place in self._wider:
            return False
        self._wider.add(place)
        self._say(f"  {self._row[place].word} was inconclusive and matters: measuring it again with {WIDER} blocks")
        return True

    def _paired(self, build: NamedBuild, folder: str, blocks: int | None) -> Judged:
        pair = against(self._scenario, self._row[0], build, metrics={self._name: self._margin}, blocks=blocks)
        return paired(pair, self._measuring, folder).judged[0]
