"""Witnesses are exact counts of work: they are compared, not tested. One more byte copied is one more byte copied."""

from __future__ import annotations

from collections.abc import Sequence

from perfproof.analysis.stats import number_format
from perfproof.analysis.verdicts.verdict import Verdict
from perfproof.model.scenarios.metrics import Better
from perfproof.model.verdicts.judged import Outcome


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
        return _exact(Outcome.EQUIVALENT, f"exactly equal in {trials} of each arm: {_values(first, unit)}", len(first))
    for arm, values in (("baseline", first), ("candidate", second)):
        if len(set(values)) > 1:
            reason = f"the {arm} gave different counts in its trials ({_span(values, unit)}): not exact, declare it noisy"
            return _exact(Outcome.UNTESTABLE, reason)
    before, after = first[0], second[0]
    change = f" ({number_format.percent(after / before - 1)})" if before else ""
    words = f"exactly {number_format.counted(after, '')} against {number_format.counted(before, unit)}{change} in {trials} of each arm"
    if abs(after - before) <= margin * abs(before):
        return _exact(Outcome.EQUIVALENT, f"{words}, within the margin of {number_format.percent(margin, signed=False)}", len(first))
    outcome = Outcome.REGRESSED if (after > before) is (better == "lower") else Outcome.IMPROVED
    return _exact(outcome, words, len(first))


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


def _exact(outcome: Outcome, reason: str, trials: int = 0) -> Verdict:
    warnings = ("one trial of each arm cannot show that the count is exact",) if trials == 1 else ()
    return Verdict(outcome=outcome, comparison=None, reason=reason, warnings=warnings, exact=True, settling=None)
