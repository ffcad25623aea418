"""Two runs of an evaluation, judged task by task: first differences of the questions, then the items.

A task with different questions, or that one run lacks, is *untestable*. A metric that can't be judged in points (a perplexity, or one with
an unknown direction) is shown without a verdict if another metric of the task can be judged; else it is *untestable*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from perfproof.analysis.verdicts import accuracy_verdict
from perfproof.analysis.verdicts.paired_items import PairedItems, Unpairable, match
from perfproof.model.records.eval_items import TaskItems
from perfproof.model.records.eval_settings import Settings, notes, other_model, other_questions
from perfproof.model.verdicts.judged import Judged, Outcome

SCENARIO, BASELINE, CANDIDATE = "accuracy", "baseline", "candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: the items of its tasks, filters and metrics, and the settings of each task."""

    items: tuple[TaskItems, ...]
    settings: Mapping[str, Settings]

    @property
    def by_name(self) -> dict[str, TaskItems]:
        return {one.name: one for one in self.items}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """The verdicts; the models, where two were compared; and notes."""

    rows: tuple[Judged, ...]
    models: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairing:
    """One task, filter and metric: its pairs, or why there are none (`unfit`), or why they have no verdict (`shown`)."""

    first: TaskItems
    pairs: PairedItems | None
    unfit: str
    shown: str


def compare(first: Run, second: Run, *, margin: float) -> Evaluated:
    """Every task, filter and metric that both runs have, at a shared error rate; then the tasks that one run lacks.

    Source: `accuracy.judge_items`.
    """
    before, after = first.by_name, second.by_name
    pairs = [_paired(before[name], after[name], first, second) for name in before if name in after]
    judged = [one for one in pairs if one.pairs is not None and not one.shown]
    deciding = {one.first.task for one in pairs if not one.shown}
    rows = [_row(one, margin, len(judged), one.first.task in deciding) for one in pairs]
    lacking = list(_lacking(first.items, second.items, "candidate")) + list(_lacking(second.items, first.items, "baseline"))
    rows += [_untestable(task, f"the {side} has no items of it", margin) for task, side in lacking]
    apart = {one.task for one in first.items} & {one.task for one in second.items} - {one.first.task for one in pairs}
    rows += [_untestable(task, "the runs have no filter and metric of it in common", margin) for task in sorted(apart)]
    half = [name for name in [*before, *after] if (name in before) != (name in after)]
    one_sided = [f"{name}: only one side has it, left out" for name in half if (before.get(name) or after[name]).task not in dict(lacking)]
    both = [(first.settings.get(task, Settings()), second.settings.get(task, Settings())) for task in {one.first.task: 0 for one in pairs}]
    return Evaluated(
        rows=tuple(rows),
        models=tuple(dict.fromkeys(models for pair in both if (models := other_model(*pair)))),
        notes=tuple(dict.fromkeys([*(note for pair in both for note in notes(*pair)), *one_sided])),
    )


def _lacking(items: Iterable[TaskItems], others: Iterable[TaskItems], side: str) -> Iterable[tuple[str, str]]:
    """The tasks of which one run has no items at all, and which run it is."""
    there = {one.task for one in others}
    return {one.task: side for one in items if one.task not in there}.items()


def _paired(one: TaskItems, two: TaskItems, first: Run, second: Run) -> _Pairing:
    differences = other_questions(first.settings.get(one.task, Settings()), second.settings.get(two.task, Settings()))
    if differences:
        return _Pairing(first=one, pairs=None, unfit=f"not the same question: {differences}", shown="")
    try:
        pairs = match(one, two)
    except Unpairable as fault:
        return _Pairing(first=one, pairs=None, unfit=str(fault), shown="")
    return _Pairing(first=one, pairs=pairs, unfit="", shown=accuracy_verdict.not_in_points(pairs, one.metric))


def _row(one: _Pairing, margin: float, tasks: int, decided: bool) -> Judged:
    """A line of the table: judged, or untestable with the reason, or shown alone where another metric of the task is judged."""
    if one.pairs is None or one.shown:
        return _untestable(one.first.name, one.unfit or one.shown, margin, primary=not (one.shown and decided))
    verdict = accuracy_verdict.judge_items(one.pairs, margin=margin, tasks=tasks)
    if why := accuracy_verdict.nothing_to_lose(one.pairs, margin):
        verdict = replace(verdict, outcome=Outcome.UNTESTABLE, reason=why)
    return accuracy_verdict.as_judged(verdict, scenario=SCENARIO, baseline=BASELINE, candidate=CANDIDATE)


def _untestable(name: str, why: str, margin: float, *, primary: bool = True) -> Judged:
    return accuracy_verdict.unjudged(name, why, scenario=SCENARIO, baseline=BASELINE, candidate=CANDIDATE, margin=margin, primary=primary)
