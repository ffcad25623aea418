"""Whether answers changed, in words: accuracy task by task, equality part by part, and one line for the head of the page.

A speed without this beside it is half an answer: a patch that computes something else may well be faster.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from suite.model.accuracy_details import AccuracyDetails, TaskDetails
from suite.model.equality import EqualityDetails
from suite.model.judged import OUTCOMES, Outcome
from suite.model.untrusted import line
from suite.report import units, words
from suite.report.nouns import ScenarioView
from suite.report.units import NONE, THIN

KINDS = ("accuracy", "equality")
"""Kinds of workload that compare answers."""
NOT_COMPARED = "Answers were not compared in this run: none of its scenarios is of kind accuracy or equality"
IDENTICAL = "Answers did not change: every one of them is identical"
HEADS = {
    Outcome.REGRESSED: "Answers changed for the worse",
    Outcome.UNTESTABLE: "Whether answers changed could not be tested",
    Outcome.INCONCLUSIVE: "Whether answers changed is not settled",
    Outcome.IMPROVED: "Answers changed, for the better",
    Outcome.EQUIVALENT: "Answers did not change beyond what is allowed",
}
MOST_TOLD = 6
"""Claims in the line at the head of the page."""
_ASKED = {"text_perplexity": "tokens of the text", "embeddings": "embeddings"}


def head(scenarios: Sequence[ScenarioView]) -> str:
    """The line at the head of the page: whether answers changed, and the figures behind it."""
    asked = [scenario for scenario in scenarios if scenario.kind in KINDS]
    if not asked:
        return NOT_COMPARED
    worst = next(outcome for outcome in OUTCOMES if any(scenario.outcome == outcome for scenario in asked))
    begins = IDENTICAL if worst == Outcome.EQUIVALENT and _identical(asked) else HEADS[worst]
    told = [f"{scenario.name}: {claim}" for scenario in asked for claim in claims(scenario)]
    more = [f"and {len(told) - MOST_TOLD} more, below"] if len(told) > MOST_TOLD else []
    return f"{begins}{': ' if told else ''}{'; '.join([*told[:MOST_TOLD], *more])}"


def _identical(scenarios: Sequence[ScenarioView]) -> bool:
    """Whether answers were held against each other bit by bit, and none differs."""
    parts = [part for scenario in scenarios for part in scenario.equality]
    flips = sum(task.lost + task.won for scenario in scenarios for one in scenario.accuracy for task in one.tasks)
    return bool(parts) and all(part.identical == part.asked for part in parts) and not flips


def claims(scenario: ScenarioView) -> Iterable[str]:
    """What a scenario found of answers, a claim a part or task, of each candidate."""
    candidates = {part.candidate for part in scenario.equality} | {one.candidate for one in scenario.accuracy}
    several = len(candidates) > 1
    for part in scenario.equality:
        yield f"{f'{part.candidate}: ' if several else ''}{equal(part)}"
    for one in scenario.accuracy:
        yield from (f"{f'{one.candidate}: ' if several else ''}{scored(task)}" for task in one.tasks if task.primary)


def equal(part: EqualityDetails) -> str:
    """ "greedy outputs identical on 198 of 200 prompts, 2 parted"."""
    said = f"{words.label(part.part)} identical on {part.identical:,} of {part.asked:,} {_ASKED.get(part.part, 'prompts')}"
    allowed = part.equal - part.identical
    parts = [said, f"{allowed:,} more within the tolerance" if allowed > 0 else "", f"{part.parted:,} parted" if part.parted else ""]
    return ", ".join(filter(None, parts))


def floor(part: EqualityDetails) -> str:
    """What the baseline did against itself."""
    if part.deterministic:
        return "the baseline gave the very same bits again, so any difference is the candidate’s"
    return (
        f"the baseline against itself: {part.floor_parted:,} parted, largest difference {units.digits(part.floor)}; "
        f"the candidate: {part.parted:,} parted, largest {units.digits(part.largest)}"
    )


def scored(task: TaskDetails) -> str:
    """ "gsm8k 41.24 % to 41.02 %, −0.23 points [−0.91, +0.45], 12 of 1,319 answers flipped"."""
    flips = task.lost + task.won
    return f"{task.name} {share(task.baseline)} to {share(task.candidate)}, {points(task)}, {flips:,} of {task.items:,} answers flipped"


def points(task: TaskDetails) -> str:
    """The difference in points with its interval."""
    ends = ", ".join(units.percent(end, 2) for end in task.interval)
    return f"{units.percent(task.difference, 2)}{THIN}points [{ends}]"


def share(value: float) -> str:
    return f"{value * 100:.2f}{THIN}%"


def mcnemar(p: float | None) -> str:
    return NONE if p is None else f"p = {p:.2g}"


def clean_equality(part: EqualityDetails) -> EqualityDetails:
    """The details with their texts made harmless."""
    return dataclasses.replace(part, scenario=line(part.scenario), baseline=line(part.baseline), candidate=line(part.candidate))


def clean_accuracy(one: AccuracyDetails) -> AccuracyDetails:
    """The details with their texts made harmless."""
    tasks = tuple(
        dataclasses.replace(
            task,
            name=line(task.name),
            task=line(task.task),
            filter=line(task.filter),
            metric=line(task.metric),
            reason=line(task.reason),
        )
        for task in one.tasks
    )
    names = line(one.scenario), line(one.baseline), line(one.candidate)
    return AccuracyDetails(scenario=names[0], baseline=names[1], candidate=names[2], through=line(one.through), tasks=tasks)
