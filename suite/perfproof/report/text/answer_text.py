"""Whether answers changed, in words: accuracy by task, equality by part, and one line for the head of the page.

A speed alone is half an answer: a patch that computes something else may well be faster.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.verdicts.accuracy_details import AccuracyDetails, TaskDetails
from perfproof.model.verdicts.equality_details import EqualityDetails
from perfproof.model.verdicts.judged import OUTCOMES, Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import ArmView, ScenarioView
from perfproof.report.base.units import NONE, THIN
from perfproof.report.text.sentences import sharing

NOT_COMPARED = "Answers were not compared in this run: nothing here shows whether the candidates give the same answers as the baseline"
IDENTICAL = "No answer that was compared changed"
"""The line where all answers are bit-identical and no item changed between right and wrong."""
HEADS = {
    Outcome.REGRESSED: "Answers changed for the worse",
    Outcome.UNTESTABLE: "Whether answers changed could not be tested",
    Outcome.INCONCLUSIVE: "Whether answers changed is not settled",
    Outcome.IMPROVED: "Answers changed, for the better",
    Outcome.EQUIVALENT: "Answers did not change beyond what is allowed",
}
MOST_TOLD = 6
"""The most claims in the line at the head of the page."""
MOST_BRIEF = 3
"""The most candidates without compared answers that the line of a lead names."""
_BRIEF = {
    Outcome.REGRESSED: "changed for the worse",
    Outcome.UNTESTABLE: "could not be tested",
    Outcome.INCONCLUSIVE: "not settled",
    Outcome.IMPROVED: "changed for the better",
    Outcome.EQUIVALENT: "no change beyond what is allowed",
}
GENERATED = ("greedy_outputs", "sampled_outputs")
"""Parts whose answers are tokens."""
_ASKED = {"text_perplexity": "tokens of the text", "embeddings": "embeddings"}


def head(scenarios: Sequence[ScenarioView]) -> str:
    """The line at the head of the page: whether answers changed, and the figures behind it."""
    compared = [scenario for scenario in scenarios if scenario.of_answers]
    if not compared:
        return NOT_COMPARED
    worst = next(outcome for outcome in OUTCOMES if any(scenario.outcome == outcome for scenario in compared))
    begins = IDENTICAL if worst == Outcome.EQUIVALENT and _identical(compared) else HEADS[worst]
    several = len({arm.name for scenario in compared for arm in scenario.arms if not arm.baseline}) > 1
    claimed = [(scenario.name, claim) for scenario in compared for claim in claims(scenario, several)]
    if begins == IDENTICAL and len(claimed) > MOST_TOLD:
        return f"{begins}: {_in_short(compared)}{_unasked(scenarios)}"
    parts = [f"{name}: {claim}" if place == 0 or claimed[place - 1][0] != name else claim for place, (name, claim) in enumerate(claimed)]
    more = [f"and {len(parts) - MOST_TOLD} more, below"] if len(parts) > MOST_TOLD else []
    return f"{begins}{': ' if parts else ''}{'; '.join([*parts[:MOST_TOLD], *more])}{_unasked(scenarios)}"


def in_brief(scenarios: Sequence[ScenarioView]) -> list[tuple[str, bool]]:
    """The answers in a line, as clauses; those that weaken a verdict on speed are flagged.

    "identical with and without x: 24 prompts, 800 items (right or wrong as before)", "not compared: thinking_watermark".
    """
    compared = [scenario for scenario in scenarios if scenario.of_answers and not scenario.itself and not scenario.control]
    if not compared and (controls := [scenario for scenario in scenarios if scenario.of_answers and scenario.control]):
        faults = {(row.scenario, row.candidate) for scenario in controls for row in scenario.rows if row.verdict}
        caught = {(row.scenario, row.candidate) for scenario in controls for row in scenario.rows if row.verdict == Outcome.REGRESSED}
        return [(f"only of faults planted on purpose, {len(caught)} of {len(faults)} of which were found", False)]
    if not compared:
        timed = any(not scenario.of_answers and not scenario.itself for scenario in scenarios)
        return [("not compared in this run", timed)]
    worst = next(outcome for outcome in OUTCOMES if any(scenario.outcome == outcome for scenario in compared))
    if worst == Outcome.EQUIVALENT and _identical(compared):
        names, own = _with(scenarios, compared)
        found = [(f"identical{names}: {_asked(own)}", False)]
    elif worst == Outcome.EQUIVALENT and not any(scenario.equality for scenario in compared) and not _flipped(compared):
        names, own = _with(scenarios, compared)
        found = [(f"no item changed between right and wrong{names}: {_asked(own)}", False)]
    else:
        first = next(scenario for scenario in compared if scenario.outcome == worst)
        told = [*claims(first, len({arm.name for arm in first.arms}) > 2), first.name][0]
        begins = _BRIEF[worst]
        more = sum(scenario.outcome == worst for scenario in compared) - 1
        others = f"; so in {more} more of {len(compared)} comparisons" if more else ""
        found = [(f"{begins}: {told}{others}", worst != Outcome.EQUIVALENT)]
    judged = [scenario for scenario in scenarios if scenario.of_answers or not (scenario.unpatched or scenario.control)]
    patches = {arm.name: ", ".join(arm.patches) for scenario in judged for arm in scenario.arms}
    left = list(dict.fromkeys(patches[name] or name for name in uncompared(judged)))
    return [*found, *([(f"not compared: {few(left, MOST_BRIEF)}", True)] if left else [])]


def _with(scenarios: Sequence[ScenarioView], compared: Sequence[ScenarioView]) -> tuple[str, list[ScenarioView]]:
    """The changes that a page times and whose answers were compared, " with and without a and b", and where; all that were compared where
    none is timed."""
    of = {scenario.name: [name for pairs in scenario.changes.values() for name, _ in pairs] for scenario in scenarios}
    timed = {name for scenario in scenarios if not scenario.of_answers for name in of[scenario.name]}
    own = [scenario for scenario in compared if timed & set(of[scenario.name])] or list(compared)
    found = dict.fromkeys(name for scenario in own for name in of[scenario.name])
    names = [name.removeprefix("patch ") for name in found if name in timed or not timed & set(found)]
    return f" with and without {few(names, MOST_BRIEF)}" if names else "", own


def _flipped(compared: Sequence[ScenarioView]) -> int:
    return sum(task.lost + task.won for scenario in compared for one in scenario.accuracy for task in one.tasks)


def _asked(compared: Sequence[ScenarioView]) -> str:
    """What was asked of each candidate: "24 prompts, 833 tokens of text, 800 items"."""
    sizes: dict[str, int] = {}
    for scenario in compared:
        parts: dict[str, int] = {}
        for part in scenario.equality:
            noun = _ASKED.get(part.part, "prompts")
            parts[noun] = max(parts.get(noun, 0), part.asked)
        for noun, number in parts.items():
            sizes[noun] = sizes.get(noun, 0) + number
        if scenario.accuracy:
            sizes["items"] = sizes.get("items", 0) + sum(task.items for task in scenario.accuracy[0].tasks if task.primary)
    return ", ".join(f"{number:,} {noun}{' (right or wrong as before)' if noun == 'items' else ''}" for noun, number in sizes.items())


def _in_short(compared: Sequence[ScenarioView]) -> str:
    """The short form for many scenarios in which no answer changed: one claim for equality, one for accuracy."""
    alike = [scenario.name for scenario in compared if scenario.equality]
    items = [scenario.name for scenario in compared if scenario.accuracy]
    parts = [
        f"bit-identical in {formatting.listed(alike)}" if alike else "",
        f"not one item changed between right and wrong in {formatting.listed(items)}" if items else "",
    ]
    return "; ".join(filter(None, parts))


def _unasked(scenarios: Sequence[ScenarioView]) -> str:
    """A sentence on the candidates that have a verdict on speed but no compared answer; "" where there are none."""
    parts = [f"{arm} ({', '.join(where[:MOST_TOLD])})" for arm, where in uncompared(scenarios).items()]
    if not parts:
        return ""
    more = f" and {len(parts) - MOST_TOLD} more" if len(parts) > MOST_TOLD else ""
    return f". Nothing here tests the answers of {formatting.listed(parts[:MOST_TOLD])}{more}"


def uncompared(scenarios: Sequence[ScenarioView]) -> dict[str, list[str]]:
    """The candidates that have a verdict on speed but no compared answer, with the scenarios of these verdicts."""
    compared = {_code(arm) for scenario in scenarios if scenario.of_answers for arm in scenario.arms if not arm.baseline}
    found: dict[str, list[str]] = {}
    for scenario in scenarios:
        if not scenario.of_answers and not scenario.itself:
            for arm in scenario.arms:
                if not arm.baseline and _code(arm) not in compared:
                    found.setdefault(arm.name, []).append(scenario.name)
    return found


def _code(arm: ArmView) -> tuple[str, ...]:
    """What determines an arm's answers: its patches; for an arm without patches, its name and build."""
    return arm.patches or (arm.name, arm.build)


def _identical(scenarios: Sequence[ScenarioView]) -> bool:
    """Whether answers were compared bit by bit, and none differs."""
    parts = [part for scenario in scenarios for part in scenario.equality]
    flips = sum(task.lost + task.won for scenario in scenarios for one in scenario.accuracy for task in one.tasks)
    return bool(parts) and all(part.identical == part.asked for part in parts) and not flips


def unchanged(scenario: ScenarioView) -> bool:
    """Whether a scenario compared answers, and none differs: bit by bit, or between right and wrong."""
    return (
        bool(scenario.equality or scenario.accuracy)
        and all(part.identical == part.asked for part in scenario.equality)
        and not _flipped([scenario])
    )


def claims(scenario: ScenarioView, several: bool = False) -> list[str]:
    """The claims of a scenario about answers, one per part or task, differing ones first; equal parts and candidates share a claim.

    A claim names its candidates where there are `several` on the page or in the scenario.
    """
    by_claim: dict[str, list[tuple[str, str]]] = {}
    for part in sorted(scenario.equality, key=lambda each: each.identical == each.asked):
        by_claim.setdefault(equal(part), []).append((part.candidate, formatting.label(part.part)))
    for one in scenario.accuracy:
        for claim in _scored([task for task in one.tasks if task.primary]):
            by_claim.setdefault(claim, []).append((one.candidate, ""))
    several = several or len({candidate for pairs in by_claim.values() for candidate, _ in pairs}) > 1
    grouped = [(names, who, claim) for claim, pairs in by_claim.items() for names, who in sharing(pairs)]
    return [
        f"{f'{formatting.listed(who)}: ' if several else ''}{f'{formatting.listed(names)} {claim}'.lstrip()}"
        for names, who, claim in grouped
    ]


def _scored(tasks: Sequence[TaskDetails]) -> list[str]:
    """One claim per task; tasks without a flipped answer share one."""
    still = [task for task in tasks if not task.lost + task.won]
    if len(still) < 2:
        return [scored(task) for task in tasks]
    names = formatting.listed([formatting.label(task.name) for task in still])
    whole = f"{names}: not one of {sum(task.items for task in still):,} items changed between right and wrong"
    return [whole, *(scored(task) for task in tasks if task not in still)]


def equal(part: EqualityDetails) -> str:
    """The claim about a part, to follow its name: "identical on 198 of 200 prompts, 2 with other tokens"."""
    tokens = f" ({part.tokens:,} tokens)" if part.part in GENERATED and part.tokens else ""
    identical = f"identical on {part.identical:,} of {part.asked:,} {_ASKED.get(part.part, 'prompts')}{tokens}"
    allowed, near = part.equal - part.identical, nearly(part)
    same = "differ beyond it" if allowed > 0 else "differ"
    other = "other logprobs" if part.largest else "another text, sum, rank or end"
    parts = [
        identical,
        f"{allowed:,} more within the tolerance" if allowed > 0 else "",
        f"{near:,} {f'with the same tokens and {other}' if part.part in GENERATED else same}" if near > 0 else "",
        f"{part.parted:,} with other tokens" if part.parted else "",
    ]
    return ", ".join(filter(None, parts))


def nearly(part: EqualityDetails) -> int:
    """The number of answers that differ beyond the tolerance but have the same tokens."""
    return part.asked - part.equal - part.parted


def floor(part: EqualityDetails) -> str:
    """How the baseline compares with itself."""
    if part.deterministic:
        return "bit-identical"
    return f"{part.floor_parted:,} with other tokens, largest difference {units.digits(part.floor)}"


def scored(task: TaskDetails) -> str:
    """ "gsm8k 41.24 % to 41.02 %, −0.23 points [−0.91, +0.45], 12 of 1,319 answers flipped"."""
    flips, shares = task.lost + task.won, f"{share(task.baseline)} to {share(task.candidate)}"
    return f"{formatting.label(task.name)} {shares}, {points(task)}, {flips:,} of {task.items:,} answers flipped"


def points(task: TaskDetails) -> str:
    """The difference in percentage points with its interval."""
    ends = ", ".join(units.percent(end, 2) for end in task.interval)
    return f"{units.points(units.percent(task.difference, 2))} [{ends}]"


def in_points(value: float) -> str:
    return units.points(f"{value * 100:.3g}")


def share(value: float) -> str:
    return f"{value * 100:.2f}{THIN}%"


def mcnemar(p: float | None) -> str:
    return NONE if p is None else f"p = {p:.2g}"


def clean_equality(part: EqualityDetails) -> EqualityDetails:
    """The details with their texts made safe to show."""
    return dataclasses.replace(part, scenario=line(part.scenario), baseline=line(part.baseline), candidate=line(part.candidate))


def clean_accuracy(one: AccuracyDetails) -> AccuracyDetails:
    """The details with their texts made safe to show."""
    tasks = tuple(
        dataclasses.replace(
            task,
            name=line(task.name),
            task=line(task.task),
            filter=line(task.filter),
            metric=line(task.metric),
            reason=formatting.sentence(task.reason),
        )
        for task in one.tasks
    )
    names = line(one.scenario), line(one.baseline), line(one.candidate)
    return AccuracyDetails(scenario=names[0], baseline=names[1], candidate=names[2], through=line(one.through), tasks=tasks)
