"""What the trials of a scenario counted of the host's work, judged: the counts that the scenario names, and all others that are there.

Counts that the scenario does not name are judged against the usual margin and are not primary: a policy says what they do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfproof.analysis.trials.counted_rounds import COUNTED, CountedPairs, counted_pairs, named, sized
from perfproof.analysis.verdicts.exact_counts import CountFinding, judge_count, untestable
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import base_name, is_count, metric
from perfproof.model.scenarios.scenario import COUNT_MARGIN, Arm, MetricChoice, Scenario
from perfproof.model.verdicts.judged import Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedMetric:
    """One count of one candidate: its line, and what is behind it."""

    row: Judged
    found: CountFinding


def counted(scenario: Scenario, candidate: Arm, trials: Sequence[Record]) -> list[CountedMetric]:
    """The counts of a candidate, those that the scenario names first; `trials` are each there once.

    Source: `exact_counts.judge_count`.
    """
    listed = {choice.name: choice for choice in scenario.metrics if is_count(choice.name)}
    arms = scenario.baseline.name, candidate.name
    there = dict.fromkeys(case for trial in trials if trial.arm in arms for case in trial.counts)
    cases = dict.fromkeys([*(name.partition("@")[2] for name in listed), *there])
    pairs = {case: counted_pairs(*arms, trials, case) for case in cases}
    chosen = {**listed, **_others(listed, list(there))}
    return [
        CountedMetric(row=_row(scenario, candidate, choice, found, pairs[case]), found=found)
        for choice in chosen.values()
        for case in [choice.name.partition("@")[2]]
        if _matters(found := _found(choice, pairs[case]), choice.name in listed)
    ]


def _others(listed: Mapping[str, MetricChoice], cases: Sequence[str]) -> dict[str, MetricChoice]:
    """What was counted and is named nowhere."""
    names = [named(each, case) for case in cases for each in COUNTED]
    return {name: MetricChoice(name=name, primary=False, margin=COUNT_MARGIN) for name in names if name not in listed}


def _found(choice: MetricChoice, pairs: CountedPairs) -> CountFinding:
    which = next((each for each in COUNTED if each == base_name(choice.name)), None)
    if which is None:
        return untestable("python_instructions", "no trial counted it")
    if pairs.broken or not pairs.pairs:
        return untestable(which, pairs.broken or pairs.lacking or "no trial counted it")
    return judge_count(pairs.pairs, which, choice.margin)


def _matters(found: CountFinding, listed: bool) -> bool:
    """Whether a count has a line: one that nobody asked for has none where neither side did any of it."""
    return listed or bool(found.baseline or found.candidate or found.left_out or found.verdict.outcome == "untestable")


def _row(scenario: Scenario, candidate: Arm, choice: MetricChoice, found: CountFinding, pairs: CountedPairs) -> Judged:
    row, known = metric(choice.name), found.verdict.outcome != "untestable"
    effect = found.change if known else None
    return Judged(
        scenario=scenario.name,
        metric=choice.name,
        unit=row.unit,
        better=row.better,
        kind=row.kind,
        primary=choice.primary,
        baseline=scenario.baseline.name,
        candidate=candidate.name,
        baseline_value=float(found.baseline) if known else None,
        candidate_value=float(found.candidate) if known else None,
        blocks=len(pairs.pairs),
        effect=effect,
        interval=None if effect is None else (effect, effect),
        level=None if effect is None else 1.0,
        margin=choice.margin,
        mde=None,
        verdict=found.verdict.outcome,
        reason=f"{found.verdict.reason}; counted at {sized(pairs.at)}" if pairs.at else found.verdict.reason,
        warnings=found.verdict.warnings,
        q=None,
    )
