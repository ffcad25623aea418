"""The tasks of an accuracy scenario, judged from its records: every candidate against the baseline, item by item.

For every task the deciding filter and metric are paired by item and judged (`accuracy_verdict`); other scores of lm_eval are shown and
never gate. All deciding tasks of all candidates share the error rate. The baseline runs twice: the share of items that change between its
runs is the noise floor, and a baseline that differs from itself by more than chance makes the task untestable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfproof.analysis.stats import number_format
from perfproof.analysis.stats.samples import Floats
from perfproof.analysis.trials.paired_trials import counts, latest
from perfproof.analysis.verdicts import accuracy_verdict, item_intervals, paired_items
from perfproof.analysis.verdicts.accuracy_verdict import SHOWN_ERROR, AccuracyVerdict
from perfproof.analysis.verdicts.paired_items import PairedItems, Unpairable
from perfproof.model.documents.decode import scenario_of
from perfproof.model.kinds import kind_in
from perfproof.model.kinds.accuracy.accuracy_workload import AccuracyWorkload, deciding
from perfproof.model.records.eval_items import AGAIN, FIRST, TaskItems, items_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.eval_metrics import direction
from perfproof.model.scenarios.metrics import ACCURACY
from perfproof.model.scenarios.scenario import Arm, MetricChoice, Scenario
from perfproof.model.verdicts.accuracy_details import AccuracyDetails, Floor, TaskDetails
from perfproof.model.verdicts.judged import Judged, Outcome

Key = tuple[str, str, str]
MOVED = 0.05
"""The share of changed items for which a plan gives the detectable drop: about what slightly different batches or kernels change."""
MOST_CHANGED = 20
"""The most ids of changed items that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _TaskResult:
    """One task of one candidate. `details` is None, and `why` says why, where it can't be judged."""

    name: str
    choice: MetricChoice
    primary: bool
    details: TaskDetails | None
    why: str
    warnings: tuple[str, ...]


def judge(scenario: Scenario, trials: Sequence[Record]) -> tuple[Judged, ...]:
    """A line for every task of every candidate, deciding ones first.

    Source: `accuracy.judge_items`.
    """
    return tuple(_line(scenario, arm, task) for arm in scenario.candidates for task in _candidate(scenario, arm, trials))


def details(records: Sequence[Record]) -> tuple[AccuracyDetails, ...]:
    """The details behind the verdicts of the accuracy scenarios in these records, one for each candidate with a compared task.

    Source: `accuracy.judge_items`.
    """
    found = []
    for name in dict.fromkeys(record.scenario for record in records if _scored(record)):
        own = latest([record for record in records if record.scenario == name])
        scenario = scenario_of(own[0].definition, source=f"the records of {name}")
        through = AccuracyWorkload.of(scenario.workload).through
        for arm in scenario.candidates:
            tasks = tuple(one.details for one in _candidate(scenario, arm, own) if one.details is not None)
            if tasks:
                found.append(
                    AccuracyDetails(scenario=name, baseline=scenario.baseline.name, candidate=arm.name, through=through, tasks=tasks)
                )
    return tuple(found)


def _scored(record: Record) -> bool:
    """Whether a record's answers are scored item by item."""
    kind = kind_in(record.definition)
    return kind is not None and kind.judged_by == "items"


def mean_error(values: Floats) -> float:
    """The standard error of a mean as in lm_eval: the sample's deviation over the root of n; NaN below two items.

    Source: lm_eval, `api/metrics.py: mean_stderr`.
    """
    return float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan


def power_sentences(scenario: Scenario) -> tuple[str, ...]:
    """What a run of this scenario can detect, one sentence per task: the drop that would be called *regressed* with 80 % power.

    Source: `item_intervals.detectable_drop`.
    """
    workload = AccuracyWorkload.of(scenario.workload)
    primary = [task.name for task in workload.tasks if _choice(scenario, task.name).primary]
    error = item_intervals.CHANGE_ERROR / max(1, len(primary) * len(scenario.candidates))
    return tuple(_power_sentence(name, workload.items(name), _choice(scenario, name).margin, error) for name in primary)


def _power_sentence(name: str, items: int | None, margin: float, error: float) -> str:
    if items is None:
        return (
            f"{name}: the number of items is known only once lm_eval has loaded the task; with 'limit', the detectable drop is shown here"
        )
    if items < accuracy_verdict.LEAST_ITEMS:
        return f"{name}: {number_format.count(items, 'item')}: at least {accuracy_verdict.LEAST_ITEMS} are needed for a verdict"
    still, moved = (item_intervals.detectable_drop(items, rate, margin=margin, error=error) for rate in (0.0, MOVED))
    flat = paired_items.pair_items(name, np.zeros(items), np.zeros(items))
    equal = -item_intervals.difference_interval(flat, accuracy_verdict.EQUIVALENCE_ERROR)[0]
    same = "is called equivalent" if equal < margin else f"stays inconclusive: it leaves a loss of {_points(equal)} possible"
    noisy = f" if nothing else changes, {_points(moved)} if {MOVED:.0%} of the items change" if moved > still else ""
    return (
        f"{name}: {number_format.count(items, 'item')} detect a drop of {_points(still)} with 80 % power{noisy}; no change at all {same} "
        f"(margin {_points(margin)})"
    )


def _points(fraction: float) -> str:
    return number_format.size(fraction, "difference")


# --- one candidate -------------------------------------------------------------------------------------------


def _candidate(scenario: Scenario, candidate: Arm, trials: Sequence[Record]) -> list[_TaskResult]:
    """Every task of a candidate, deciding ones first; where a trial is missing or does not count, the tasks of the scenario."""
    tasks = AccuracyWorkload.of(scenario.workload).tasks
    of = {trial.arm: trial for trial in trials}
    lost = [why for arm in (scenario.baseline, candidate) if (why := _lost(arm, of.get(arm.name)))]
    if lost:
        return [_untestable(scenario, task.name, True, lost[0]) for task in tasks]
    first, again, other = (
        {(task.task, task.filter, task.metric): task for task in items_of(of[arm.name].raw, run)}
        for arm, run in ((scenario.baseline, FIRST), (scenario.baseline, AGAIN), (candidate, FIRST))
    )
    keys = list(dict.fromkeys([*first, *other]))
    chosen = deciding(tasks, keys)
    primary = {key for key in keys if chosen.get(key[0]) == key[1:] and _choice(scenario, key[0]).primary}
    error = item_intervals.CHANGE_ERROR / max(1, len(primary) * len(scenario.candidates))
    tasks_ = [_task(scenario, key, key in primary, chosen, error, first, again, other) for key in keys]
    tasks_ += [
        _untestable(scenario, task.name, True, "lm_eval scored no such task") for task in tasks if _unseen(task.name, keys, scenario)
    ]
    return sorted(tasks_, key=lambda one: not one.primary)


def _unseen(name: str, keys: Sequence[Key], scenario: Scenario) -> bool:
    """Whether a task has no results at all; a group is not unseen, because its tasks have their own names."""
    there, wanted = {key[0] for key in keys}, {task.name for task in AccuracyWorkload.of(scenario.workload).tasks}
    return name not in there and not there - wanted


def _lost(arm: Arm, trial: Record | None) -> str:
    """Why an arm's trial can't be compared; "" if it can."""
    if trial is None:
        return f"arm {arm.name} was not measured"
    return "" if counts(trial) else f"arm {arm.name}: {trial.reason or trial.status}"


def _task(
    scenario: Scenario,
    key: Key,
    primary: bool,
    chosen: Mapping[str, tuple[str, str]],
    error: float,
    first: Mapping[Key, TaskItems],
    again: Mapping[Key, TaskItems],
    other: Mapping[Key, TaskItems],
) -> _TaskResult:
    name = f"{ACCURACY}@{key[0]}" if chosen.get(key[0]) == key[1:] else f"{ACCURACY}@{', '.join(part for part in key if part != 'none')}"
    if key not in first or key not in other:
        side = "the baseline" if key not in first else "the candidate"
        return _untestable(scenario, key[0], primary, f"{side} has no items of it", name)
    try:
        paired = paired_items.match(first[key], other[key])
    except Unpairable as fault:
        return _untestable(scenario, key[0], primary, str(fault), name)
    if why := _not_in_points(paired, key[2], primary):
        return _untestable(scenario, key[0], primary, why, name)
    choice = _choice(scenario, key[0])
    if primary and (why := accuracy_verdict.nothing_to_lose(paired, choice.margin)):
        return _untestable(scenario, key[0], primary, why, name)
    floor, lacking = _floor(first[key], again.get(key))
    verdict = accuracy_verdict.judge_items(
        paired, margin=choice.margin, tasks=max(1, round(item_intervals.CHANGE_ERROR / error)), flip_rate=floor.rate if floor else 0.0
    )
    wandering = floor is not None and floor.p is not None and floor.p <= 2 * error
    outcome = Outcome.UNTESTABLE if wandering else verdict.outcome
    reason = _with_floor(verdict.reason, floor, wandering)
    return _TaskResult(
        name=name,
        choice=choice,
        primary=primary,
        details=_details(name, key, primary, paired, paired_items.paired_ids(first[key], other[key]), verdict, floor, outcome, reason),
        why="",
        warnings=lacking,
    )


def _not_in_points(paired: PairedItems, metric: str, primary: bool) -> str:
    """Why a metric has no verdict in points; "" where it has one.

    Records do not say which direction is better: the runner refuses metrics for which lm_eval says that less is better.
    """
    known = replace(paired, better=direction(metric) or "higher")
    why = accuracy_verdict.not_in_points(known, metric)
    if not why and primary and known.better == "lower":
        why = f"of {metric} less is better"
    return f"{why}: name another metric for it" if why and primary else why


def _choice(scenario: Scenario, task: str) -> MetricChoice:
    """The scenario's settings for a task: under its own name, else under that of all tasks."""
    named = {choice.name: choice for choice in scenario.metrics}
    other = MetricChoice(name=ACCURACY, primary=False, margin=scenario.metrics[0].margin)
    return named.get(f"{ACCURACY}@{task}") or named.get(ACCURACY) or other


def _floor(first: TaskItems, again: TaskItems | None) -> tuple[Floor | None, tuple[str, ...]]:
    """The baseline against itself, and warnings where that is not known."""
    if again is None:
        return None, ("the baseline did not run a second time: there is no noise floor",)
    try:
        itself = paired_items.match(first, again)
    except Unpairable as fault:
        return None, (f"the baseline's second run can't be paired with its first: {fault}",)
    lost, won = int((itself.candidate < itself.baseline).sum()), int((itself.candidate > itself.baseline).sum())
    p = item_intervals.mcnemar_p(lost, won) if itself.binary else None
    return Floor(items=itself.baseline.size, lost=lost, won=won, p=p), ()


def _with_floor(reason: str, floor: Floor | None, wandering: bool) -> str:
    """The verdict's reason with the baseline's noise floor."""
    if floor is None:
        return reason
    itself = f"the baseline against itself changed {floor.lost + floor.won:,} of {floor.items:,}"
    if wandering:
        return f"{itself} ({floor.lost:,} lost, {floor.won:,} won), more than chance explains: another arm's changes show nothing"
    return f"{reason}; {itself}"


def _details(
    name: str,
    key: Key,
    primary: bool,
    paired: PairedItems,
    ids: Sequence[str],
    verdict: AccuracyVerdict,
    floor: Floor | None,
    outcome: Outcome,
    reason: str,
) -> TaskDetails:
    before, after = paired.baseline, paired.candidate
    fell, rose = np.flatnonzero(after < before), np.flatnonzero(after > before)
    interval = verdict.interval if primary else item_intervals.difference_interval(paired, SHOWN_ERROR)
    return TaskDetails(
        name=name,
        task=key[0],
        filter=key[1],
        metric=key[2],
        primary=primary,
        items=before.size,
        baseline=float(before.mean()),
        baseline_error=mean_error(before),
        candidate=float(after.mean()),
        candidate_error=mean_error(after),
        both=int(((before == 1) & (after == 1)).sum()) if paired.binary else None,
        lost=fell.size,
        won=rose.size,
        neither=int(((before == 0) & (after == 0)).sum()) if paired.binary else None,
        p=item_intervals.mcnemar_p(fell.size, rose.size) if paired.binary else None,
        difference=float((after - before).mean()),
        interval=interval,
        level=verdict.level if primary else 1 - 2 * SHOWN_ERROR,
        margin=verdict.margin,
        detectable=verdict.detectable,
        lost_items=tuple(int(ids[place]) for place in fell[:MOST_CHANGED]),
        won_items=tuple(int(ids[place]) for place in rose[:MOST_CHANGED]),
        floor=floor,
        bound=item_intervals.difference_interval(paired, accuracy_verdict.EQUIVALENCE_ERROR)[0] if primary else None,
        verdict=outcome if primary else None,
        reason=reason
        if primary
        else f"{number_format.count(before.size, 'item')}, {fell.size:,} lost, {rose.size:,} won; shown, not judged",
    )


def _untestable(scenario: Scenario, task: str, decides: bool, why: str, name: str = "") -> _TaskResult:
    choice = _choice(scenario, task)
    return _TaskResult(
        name=name or f"{ACCURACY}@{task}", choice=choice, primary=decides and choice.primary, details=None, why=why, warnings=()
    )


def _line(scenario: Scenario, candidate: Arm, task: _TaskResult) -> Judged:
    """A task as a line of the table; `blocks` counts items."""
    seen = task.details
    return Judged(
        scenario=scenario.name,
        metric=task.name,
        unit="1",
        better="higher",
        kind="share",
        primary=task.primary,
        baseline=scenario.baseline.name,
        candidate=candidate.name,
        baseline_value=seen.baseline if seen else None,
        candidate_value=seen.candidate if seen else None,
        blocks=seen.items if seen else 0,
        effect=seen.difference if seen else None,
        interval=seen.interval if seen else None,
        level=seen.level if seen else None,
        margin=task.choice.margin,
        mde=seen.detectable if seen and task.primary else None,
        verdict=(seen.verdict if seen else Outcome.UNTESTABLE) if task.primary else None,
        reason=seen.reason if seen else task.why,
        warnings=task.warnings,
        q=None,
    )
