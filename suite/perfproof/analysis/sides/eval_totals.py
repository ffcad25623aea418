"""Two runs of an evaluation of which totals alone are known, judged task by task and unpaired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfproof.analysis.verdicts import accuracy_verdict
from perfproof.analysis.verdicts.eval_runs import BASELINE, CANDIDATE, SCENARIO, Evaluated
from perfproof.model.records.eval_items import Total
from perfproof.model.records.eval_settings import Settings, notes, other_model, other_questions
from perfproof.model.verdicts.judged import Judged

LOST = (
    "the totals are compared, unpaired: which items changed is not known, nor whether both runs were asked the very same items, "
    "and a drop must be several times as large to be seen"
)


def compare(
    first: Sequence[Total],
    second: Sequence[Total],
    before_settings: Mapping[str, Settings],
    after_settings: Mapping[str, Settings],
    *,
    items: Mapping[str, int],
    margin: float,
) -> Evaluated:
    """Every task, filter and metric of which both runs have a total with its standard error, at a shared error rate; then the tasks that
    one run lacks.

    Source: `accuracy_verdict.judge_totals`.
    """
    before, after = ({total.name: total for total in side} for side in (first, second))
    shared = [name for name in before if name in after]
    why = {name: _unfit(before[name], after[name], before_settings, after_settings, margin) for name in shared}
    tasks = sum(not each for each in why.values())
    rows = [_row(before[name], after[name], why[name], tasks, items, margin) for name in shared]
    there = {before[name].task for name in shared}
    lacking = [(total.task, "candidate") for total in first] + [(total.task, "baseline") for total in second]
    rows += [_untestable(task, f"the {side} has no total of it", margin) for task, side in dict.fromkeys(lacking) if task not in there]
    both = [
        (before_settings.get(task, Settings()), after_settings.get(task, Settings()))
        for task in dict.fromkeys(before[name].task for name in shared)
    ]
    half = [name for name in [*before, *after] if (name in before) != (name in after)]
    alone = [f"{name}: only one side has it, left out" for name in half if (before.get(name) or after[name]).task in there]
    return Evaluated(
        rows=tuple(rows),
        models=tuple(dict.fromkeys(models for pair in both if (models := other_model(*pair)))),
        notes=tuple(dict.fromkeys([*(note for pair in both for note in notes(*pair)), *alone])),
    )


def _unfit(first: Total, second: Total, before: Mapping[str, Settings], after: Mapping[str, Settings], margin: float) -> str:
    """Why there is no verdict on a total; "" where there is one."""
    differing = other_questions(before.get(first.task, Settings()), after.get(second.task, Settings()))
    if why := f"not the same question: {differing}" if differing else accuracy_verdict.totals_not_in_points(first, second):
        return why
    if min(first.error, second.error) == 0:
        return "a standard error of 0, of items that were all scored alike, gives no interval"
    right = max(1 - total.value if first.better == "lower" else total.value for total in (first, second))
    if right < margin:
        return f"neither run has more than {right:.1%} right, so that a drop of {margin:.1%} is not possible: ask what the model can answer"
    return ""


def _row(first: Total, second: Total, why: str, tasks: int, items: Mapping[str, int], margin: float) -> Judged:
    if why:
        return _untestable(first.name, why, margin)
    found = accuracy_verdict.judge_totals(
        first.name,
        (first.value, first.error),
        (second.value, second.error),
        margin=margin,
        tasks=tasks,
        items=items.get(first.task),
        better=first.better or "higher",
    )
    return accuracy_verdict.as_judged(found, scenario=SCENARIO, baseline=BASELINE, candidate=CANDIDATE)


def _untestable(name: str, why: str, margin: float) -> Judged:
    return accuracy_verdict.unjudged(name, why, scenario=SCENARIO, baseline=BASELINE, candidate=CANDIDATE, margin=margin)
