"""Exact counts of an engine, judged: one process of each arm decides, and a second confirms what differs.

Every metric of every case has a line. What two processes of an arm count otherwise, what an arm could not count, and requests that were
answered otherwise are *untestable*, each with its reason: nothing is concluded of them, and nothing of them passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfproof.analysis.stats import number_format
from perfproof.analysis.trials.paired_trials import counts, latest
from perfproof.model.base.name_lists import few
from perfproof.model.records.count_tables import told_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import base_name, metric
from perfproof.model.scenarios.scenario import Arm, MetricChoice, Scenario
from perfproof.model.verdicts.judged import Judged, Outcome

ENOUGH = 2
"""Processes of each arm after which nothing more is counted."""
NAMED = 4
"""Names in a reason, at most."""
UNCONFIRMED = "counted in one process of each arm; a second one confirms it"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """What one arm's trials counted, a process each."""

    name: str
    trials: tuple[Record, ...]
    lost: str

    def values(self, name: str) -> list[float]:
        return [float(trial.witnesses[name]) for trial in self.trials if name in trial.witnesses]

    def named(self, what: str, case: str) -> list[Any]:
        """What the trials say of a case: `outputs`, `functions` or `odd`."""
        tables = (told_of(trial).get(what) for trial in self.trials)
        return [each.get(case) for each in tables if isinstance(each, Mapping)]

    def odd(self, case: str) -> frozenset[str]:
        """Names on which the waves of a process did not agree: they are in no number."""
        return frozenset(str(name) for names in self.named("odd", case) if isinstance(names, list) for name in names)

    def why_not(self, case: str) -> tuple[str, str]:
        """Of what kind it is that a case was not counted ("unknown" to the release, a "fault", ""), and why."""
        for trial in self.trials:
            for gone in _left_out(trial):
                if case.endswith(f", {gone.get('feature')}, {gone.get('requests')} requests") or (
                    gone.get("requests") is None and f", {gone.get('feature')}, " in case
                ):
                    return str(gone.get("kind")), str(gone.get("why"))
        return "", self.lost


def judge(scenario: Scenario, records: Sequence[Record]) -> tuple[Judged, ...]:
    """A line for each metric of each case and candidate, in the order in which they were counted.

    Source: none, differences of exact counts.
    """
    trials = latest(records)
    base = _side(scenario.baseline, trials)
    return tuple(row for arm in scenario.candidates for row in _rows(scenario, base, _side(arm, trials)))


def stop(scenario: Scenario, records: Sequence[Record], judged: Sequence[Judged]) -> str:
    """Why no further process is needed, or "".

    Source: none, this project's rule.
    """
    trials = [trial for trial in latest(records) if trial.status != "invalid"]
    done = min(sum(trial.arm == arm.name for trial in trials) for arm in scenario.arms)
    if done >= ENOUGH:
        return "two processes of each arm were counted"
    if done and judged and all(row.verdict is Outcome.IDENTICAL for row in judged):
        return "all counts are identical"
    return ""


def power_sentences(scenario: Scenario) -> tuple[str, ...]:
    """What a plan can see of counts, in a sentence.

    Source: none, bookkeeping.
    """
    return ("counts are exact: any change is seen, and one beyond its margin is a verdict",)


def _side(arm: Arm, trials: Sequence[Record]) -> _Side:
    mine = [trial for trial in trials if trial.arm == arm.name]
    gone = [trial for trial in mine if not counts(trial)]
    lost = f"{gone[0].status}: {gone[0].reason.partition(chr(10))[0]}" if gone else "it left no trial" if not mine else "it left no value"
    return _Side(name=arm.name, trials=tuple(trial for trial in mine if counts(trial)), lost=lost)


def _rows(scenario: Scenario, base: _Side, candidate: _Side) -> Iterator[Judged]:
    names = dict.fromkeys(name for side in (base, candidate) for trial in side.trials for name in trial.witnesses)
    for choice in scenario.metrics:
        found = [name for name in names if choice.name in (name, base_name(name))]
        for name in found or [choice.name]:
            if not _skipped(name, base, candidate):
                yield _judged(scenario, choice, name, base, candidate)


def _skipped(name: str, base: _Side, candidate: _Side) -> bool:
    """Whether a side's release does not know the feature of a case: then there is nothing to compare, which its trials tell."""
    return any(not side.values(name) and side.why_not(name.partition("@")[2])[0] == "unknown" for side in (base, candidate))


def _judged(scenario: Scenario, choice: MetricChoice, name: str, base: _Side, candidate: _Side) -> Judged:
    row, before, after = metric(name), base.values(name), candidate.values(name)
    fault = _fault(name, base, candidate)
    effect = None if fault or not before[0] else after[0] / before[0] - 1
    outcome, reason = (Outcome.UNTESTABLE, fault) if fault else _verdict(name, choice.margin, base, candidate)
    once = not fault and outcome is not Outcome.IDENTICAL and min(len(before), len(after)) < ENOUGH
    return Judged(
        scenario=scenario.name,
        metric=name,
        unit=row.unit,
        better=row.better,
        kind=row.kind,
        primary=choice.primary,
        baseline=base.name,
        candidate=candidate.name,
        baseline_value=before[0] if before else None,
        candidate_value=after[0] if after else None,
        blocks=min(len(before), len(after)),
        effect=effect,
        interval=None if effect is None else (effect, effect),
        level=None if effect is None else 1.0,
        margin=choice.margin,
        mde=None,
        verdict=outcome,
        reason=reason,
        warnings=(UNCONFIRMED,) if once else (),
        q=None,
    )


def _fault(name: str, base: _Side, candidate: _Side) -> str:
    """Why two sides can't be compared in a case; "" if they can."""
    case = name.partition("@")[2]
    for side in (base, candidate):
        if not side.values(name):
            return f"{side.name} could not be counted: {side.why_not(case)[1]}"
    for side in (base, candidate):
        if len(set(side.values(name))) > 1:
            span = " and ".join(f"{value:,.0f}" for value in dict.fromkeys(side.values(name)))
            return f"not the same in two processes of {side.name}: {span}"
    if len({str(value) for side in (base, candidate) for value in side.named("outputs", case)}) > 1:
        return "other work: the requests were answered otherwise"
    if uneven := base.odd(case) ^ candidate.odd(case):
        return f"not the same each time on one side alone: {few(sorted(uneven), NAMED)}"
    return ""


def _verdict(name: str, margin: float, base: _Side, candidate: _Side) -> tuple[Outcome, str]:
    before, after, unit = base.values(name)[0], candidate.values(name)[0], metric(name).unit
    case = name.partition("@")[2]
    figures = f"exactly {number_format.counted(after, '')} against {number_format.counted(before, '' if unit == '1' else unit)}"
    if before != after:
        figures += f" ({number_format.percent(after / before - 1)})" if before else ", where there was none"
    if abs(after - before) > margin * before:
        return (Outcome.REGRESSED, f"more Python work: {figures}") if after > before else (Outcome.LESS, f"less Python work: {figures}")
    if before != after:
        return Outcome.EQUIVALENT, f"{figures}, within the margin of {number_format.percent(margin, signed=False)}"
    same = len({str(value) for side in (base, candidate) for value in side.named("functions", case)}) <= 1
    return (Outcome.IDENTICAL, "identical") if same else (Outcome.EQUIVALENT, f"{figures}: the same in all, by other functions")


def _left_out(trial: Record) -> list[Mapping[str, Any]]:
    gone = told_of(trial).get("left_out")
    return [one for one in gone if isinstance(one, Mapping)] if isinstance(gone, list) else []
