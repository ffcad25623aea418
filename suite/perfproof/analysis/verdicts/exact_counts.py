"""Counts are exact: they are compared, not tested. One more byte copied is one more byte copied.

Witnesses are what a benchmark counts of its own: any difference decides. Counts of the host's work have a margin, since a harmless change
moves them, and names: functions, C calls, operators. One trial a side decides, and a second process of each confirms what differs. A name
whose number is the same on both sides of every block has not changed, whatever it is from block to block (the seed of hashes differs
there); one that has one number in all trials of an arm and another in all of the other has. What is neither, or was not the same in two
rounds of one trial, is left out of both sides and named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from perfproof.analysis.counts.count_comparison import Changed, changes
from perfproof.analysis.stats import number_format
from perfproof.analysis.verdicts.verdict import Verdict
from perfproof.model.base.name_lists import few
from perfproof.model.records.counts import METRICS, Metric, PhaseWork, function_of, numbers_of, short_name
from perfproof.model.scenarios.metrics import Better
from perfproof.model.verdicts.judged import Outcome

NAMED = 3
"""Functions that are named in a reason, at most."""
ALONE = 12
"""C calls and operators of one arm alone that are named in a reason, at most."""
BY_NAME: frozenset[Metric] = frozenset(["c_calls", "torch_operators", "torch_bytes"])
"""Metrics of which what only one arm does is always named."""
MOST_LEFT = 0.5
"""The share of a number that may be left out, at most, for anything to be said of the rest."""
LARGE = 0.01
"""The share of a number from which the reason says how much of it was left out."""
Pairs = Sequence[tuple[PhaseWork, PhaseWork]]


def judge_witness(
    baseline: Sequence[float | None], candidate: Sequence[float | None], better: Better = "lower", *, unit: str = "", margin: float = 0.0
) -> Verdict:
    """The exact verdict on a witness from the values of each trial, in the order of their blocks.

    Equal in every block (or within `margin`, a fraction, 0 by default): *equivalent*. Constant within each arm and different between
    them: *improved* or *regressed*. A value that differs between trials of one arm is *untestable*: declare such a count noisy, and
    judge it as a timed metric. Missing values are *untestable*. There is no statistics in it, hence no source.
    """
    if reason := _fault(baseline, candidate):
        return _exact(Outcome.UNTESTABLE, reason)
    first, second = [v for v in baseline if v is not None], [v for v in candidate if v is not None]
    trials = number_format.count(len(first), "trial")
    if first == second:
        return _exact(Outcome.EQUIVALENT, f"exactly equal in {trials} of each arm: {_values(first, unit)}", *_alone(len(first)))
    for arm, values in (("baseline", first), ("candidate", second)):
        if len(set(values)) > 1:
            reason = f"the {arm} gave different counts in its trials ({_span(values, unit)}): not exact, declare it noisy"
            return _exact(Outcome.UNTESTABLE, reason)
    before, after = first[0], second[0]
    change = f" ({number_format.percent(after / before - 1)})" if before else ""
    words = f"exactly {number_format.counted(after, '')} against {number_format.counted(before, unit)}{change} in {trials} of each arm"
    if abs(after - before) <= margin * abs(before):
        return _exact(
            Outcome.EQUIVALENT, f"{words}, within the margin of {number_format.percent(margin, signed=False)}", *_alone(len(first))
        )
    outcome = Outcome.REGRESSED if (after > before) is (better == "lower") else Outcome.IMPROVED
    return _exact(outcome, words, *_alone(len(first)))


def _fault(baseline: Sequence[float | None], candidate: Sequence[float | None]) -> str:
    if not baseline or len(baseline) != len(candidate):
        return f"{len(baseline)} values of the baseline and {len(candidate)} of the candidate: one of each per block is needed"
    for arm, values in (("baseline", baseline), ("candidate", candidate)):
        lost = [place for place, value in enumerate(values) if value is None or value != value]
        if lost:
            return f"the {arm} left no value in {number_format.count(len(lost), 'trial')} (the first: number {lost[0] + 1})"
    return ""


def _values(values: list[float], unit: str) -> str:
    return number_format.counted(values[0], unit) if len(set(values)) == 1 else f"{_span(values, unit)}, the same in each block"


def _span(values: list[float], unit: str) -> str:
    return f"{number_format.counted(min(values), '')} to {number_format.counted(max(values), unit)}"


# --- the work of the host ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CountFinding:
    """One metric of one case: its verdict, both totals, what changed (the worst first), and what was left out."""

    metric: Metric
    verdict: Verdict
    baseline: int
    candidate: int
    changed: tuple[Changed, ...]
    left_out: tuple[str, ...]

    @property
    def change(self) -> float | None:
        """The relative change; None where there was nothing before."""
        return self.candidate / self.baseline - 1 if self.baseline else None if self.candidate else 0.0

    @property
    def one_sided(self) -> tuple[Changed, ...]:
        """What only one arm does."""
        return tuple(one for one in self.changed if not one.base or not one.base + one.change)


def judge_count(pairs: Pairs, metric: Metric, margin: float) -> CountFinding:
    """The verdict on a metric of rounds, a pair a block, against `margin`, a fraction.

    Source: none, differences of exact counts.
    """
    left = unsteady(pairs, metric)
    first, second = ({name: n for name, n in numbers_of(side, metric).items() if name not in left} for side in pairs[0])
    found = CountFinding(
        metric=metric,
        verdict=_exact(Outcome.IDENTICAL, ""),
        baseline=sum(first.values()),
        candidate=sum(second.values()),
        changed=tuple(changes(*pairs[0], metric, (first, second))),
        left_out=tuple(sorted(left)),
    )
    outcome, share = _outcome(found, margin), max(_share(side, metric, left) for side in pairs[0])
    if share > MOST_LEFT:
        return untestable(metric, f"most of it was not the same each time: {few(found.left_out, ALONE)}")
    reason = "; ".join([_numbers(found, outcome, len(pairs)), *_behind(found)])
    return replace(found, verdict=_exact(outcome, reason, *_warnings(found, len(pairs), share)))


def untestable(metric: Metric, reason: str) -> CountFinding:
    """A metric of which nothing can be said, and why.

    Source: none, bookkeeping.
    """
    return CountFinding(metric=metric, verdict=_exact(Outcome.UNTESTABLE, reason), baseline=0, candidate=0, changed=(), left_out=())


def unsteady(pairs: Pairs, metric: Metric) -> frozenset[str]:
    """Names whose numbers two like rounds, or the blocks, do not agree on.

    Source: none, differences of exact counts.
    """
    odd = {function_of(name) for pair in pairs for side in pair for name in side.odd}
    numbers = [(numbers_of(one, metric), numbers_of(other, metric)) for one, other in pairs]
    names = {name for pair in numbers for side in pair for name in side}
    return frozenset(name for name in names if name in odd or not _agree(name, numbers))


def _agree(name: str, numbers: Sequence[tuple[Mapping[str, int], Mapping[str, int]]]) -> bool:
    values = [(one.get(name, 0), other.get(name, 0)) for one, other in numbers]
    return all(one == other for one, other in values) or len(set(values)) == 1


def _outcome(found: CountFinding, margin: float) -> Outcome:
    if abs(found.candidate - found.baseline) > margin * found.baseline:
        return Outcome.REGRESSED if found.candidate > found.baseline else Outcome.LESS
    return Outcome.EQUIVALENT if found.changed else Outcome.IDENTICAL


def _share(side: PhaseWork, metric: Metric, left: Collection[str]) -> float:
    """How much of a number was left out."""
    numbers = numbers_of(side, metric)
    whole = sum(numbers.values())
    return sum(numbers.get(name, 0) for name in left) / whole if whole else 0.0


def _numbers(found: CountFinding, outcome: Outcome, trials: int) -> str:
    what, each = METRICS[found.metric][0], f"in {number_format.count(trials, 'trial')} of each arm"
    if outcome is Outcome.IDENTICAL:
        return f"identical to the last one: {found.baseline:,} {what} {each}"
    change = "there were none" if found.change is None else number_format.percent(found.change)
    word = {Outcome.REGRESSED: "more Python work: ", Outcome.LESS: "less Python work: "}.get(outcome, "within the margin: ")
    return f"{word}{found.baseline:,} to {found.candidate:,} {what} ({change}) {each}"


def _behind(found: CountFinding) -> Iterator[str]:
    """What changed most, and what only one arm does."""
    alone = found.one_sided if found.metric in BY_NAME else ()
    both = [one for one in found.changed if one not in alone]
    if both:
        yield few([_line(one) for one in both], NAMED)
    for side, here in (("the candidate", [one for one in alone if not one.base]), ("the baseline", [one for one in alone if one.base])):
        if here:
            yield f"of {side} alone: {few([_line(one) for one in here], ALONE)}"


def _line(one: Changed) -> str:
    return f"{short_name(one.name)} {one.change:+,}"


def _warnings(found: CountFinding, trials: int, share: float) -> Iterator[str]:
    if trials == 1 and found.changed:
        yield "what differs was not confirmed by a second process of each arm"
    if found.left_out:
        of_all = f", {number_format.percent(share, signed=False)} of the {METRICS[found.metric][0]}" if share >= LARGE else ""
        yield f"left out, not the same each time{of_all}: {few(found.left_out, ALONE)}"


def _alone(trials: int) -> tuple[str, ...]:
    return ("one trial of each arm cannot show that the count is exact",) if trials == 1 else ()


def _exact(outcome: Outcome, reason: str, *warnings: str) -> Verdict:
    return Verdict(outcome=outcome, comparison=None, reason=reason, warnings=warnings, exact=True, settling=None)
