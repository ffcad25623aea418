"""Whether a candidate answers what the baseline answers: token by token, logprob by logprob, against the baseline's second run.

In order: the answers of every trial are taken from its record; each prompt's answer is held against the baseline's (`Difference`); so is
that of the baseline when it ran again: the floor. What then counts depends on the floor:

- where the baseline gave the very same bits again, the engine is deterministic here, and any difference beyond the scenario's tolerance
  is the candidate's: *regressed*. A difference that a tie explains (the tokens were no further apart than what is tolerated) leaves it
  *inconclusive*;
- where it did not, the candidate is *regressed* only if too many of its prompts lie beyond the worst of the floor, or too many of its
  answers part from the baseline's, for that to be chance (one-sided, .01 over all parts and candidates);
- otherwise it is *equivalent*, in the words "identical on N prompts" where every bit is the same.

A text that the model is led through has an interval: its perplexity, paired by token. Nothing here is *improved* but that: answers
are the baseline's, or they are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from perfproof.analysis.equality.answer_differences import TEXT, Answers, Incomparable, answers_of, compare, identical
from perfproof.analysis.equality.outcome_rules import ERROR, MOST_NATS, Ruled, rule, rule_text, ruled
from perfproof.analysis.equality.part_comparison import Found, chance_of_furthest
from perfproof.analysis.stats import number_format
from perfproof.analysis.trials.paired_trials import counts, latest
from perfproof.model.kinds.equality.equality_workload import EqualityWorkload
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import Part, metric
from perfproof.model.scenarios.scenario import Arm, MetricChoice, Scenario
from perfproof.model.verdicts.equality_details import EqualityDetails
from perfproof.model.verdicts.judged import Judged, Outcome

__all__ = ["details", "judge", "power_sentences"]


def judge(scenario: Scenario, records: Sequence[Record]) -> tuple[Judged, ...]:
    """A judged line for each part and candidate of an equality scenario, but for candidates whose equality is `off`.

    Source: `rules.rule`, `rules.rule_text`.
    """
    trials = latest(records)
    return tuple(_judged(scenario, arm, choice, trials) for arm, choice in _asked(scenario))


def details(scenario: Scenario, records: Sequence[Record]) -> tuple[EqualityDetails, ...]:
    """What lies behind the lines of `judge`, for the report; parts that can't be compared are left out. Source: `answers.compare`."""
    trials = latest(records)
    found = ((arm, _found(scenario, arm, choice, trials)) for arm, choice in _asked(scenario))
    return tuple(_details(scenario, arm, each, trials) for arm, each in found if isinstance(each, Found))


def power_sentences(scenario: Scenario) -> tuple[str, ...]:
    """What a plan can see of differences, in one sentence. Source: `found.chance_of_furthest`."""
    prompts, again = _workload(scenario).prompts, _workload(scenario).again
    error = ERROR / max(1, len(_asked(scenario))) / 2
    needed = (count for count in range(1, prompts + 1) if chance_of_furthest(count, prompts, prompts * again) <= error)
    noisy = next((f"{count} of them beyond the worst of it" for count in needed), "more prompts than these")
    return (
        f"{number_format.count(prompts, 'prompt')}: where the baseline gives the same bits again, a single other one is seen; "
        f"where it does not, "
        f"it takes {noisy} to fail",
    )


def _asked(scenario: Scenario) -> list[tuple[Arm, MetricChoice]]:
    return [(arm, choice) for arm in scenario.candidates if arm.equality != "off" for choice in scenario.metrics]


def _trials(scenario: Scenario, arm: Arm, records: Sequence[Record]) -> list[Record]:
    """The trials of the baseline and of a candidate, then the baseline's further ones. Raises `Incomparable` where one is missing."""
    of = {(record.block, record.arm): record for record in records}
    baseline, found = scenario.baseline.name, []
    for block, name in [(1, baseline), (1, arm.name), *((2 + n, baseline) for n in range(scenario.again))]:
        trial, what = of.get((block, name)), f"{name}{' (again)' if block > 1 else ''}"
        if trial is None:
            raise Incomparable(f"arm {what} has not run yet")
        if not counts(trial):
            raise Incomparable(f"arm {what} {trial.status}: {trial.reason.partition(chr(10))[0]}")
        found.append(trial)
    return found


def _answers(scenario: Scenario, arm: Arm, part: Part, records: Sequence[Record]) -> tuple[Answers, Answers, list[Answers]]:
    """The baseline's answers, the candidate's, and those of the baseline's further runs."""
    first, second, *again = (answers_of(record, part) for record in _trials(scenario, arm, records))
    return first, second, again


def _found(scenario: Scenario, arm: Arm, choice: MetricChoice, records: Sequence[Record]) -> Found | str:
    """What the comparison finds, or why there is none."""
    part = cast(Part, choice.name)  # the document lets no other metric in
    try:
        first, second, again = _answers(scenario, arm, part, records)
        return Found(
            part=part,
            prompts=compare(first, second),
            floor=tuple(compare(first, each) for each in again),
            tokens=sum(row.size for row in first.tokens),
            tolerance=_workload(scenario).tolerance,
        )
    except Incomparable as error:
        return str(error)


def _workload(scenario: Scenario) -> EqualityWorkload:
    return EqualityWorkload.of(scenario.workload)


def _judged(scenario: Scenario, arm: Arm, choice: MetricChoice, records: Sequence[Record]) -> Judged:
    found = _found(scenario, arm, choice, records)
    if isinstance(found, str):
        return _line(scenario, arm, choice, ruled(Outcome.UNTESTABLE, found), None, (None, None))
    said, values = _ruled(scenario, arm, choice, found, records)
    return _line(scenario, arm, choice, _as_declared(said, _declared(arm, records)), found, values)


def _ruled(
    scenario: Scenario, arm: Arm, choice: MetricChoice, found: Found, records: Sequence[Record]
) -> tuple[Ruled, tuple[float, float]]:
    """The verdict on what was found, with the baseline's value and the candidate's."""
    error = ERROR / len(_asked(scenario))
    if found.part == TEXT:
        first, second, again = _answers(scenario, arm, TEXT, records)
        said = rule_text(found, first, second, again, margin=choice.margin, error=error)
        return said, (_perplexity(first), _perplexity(second))
    before = 1 - found.floor_parted / (len(found.floor) * len(found.prompts))
    return rule(found, error), (before, sum(map(found.allowed, found.prompts)) / len(found.prompts))


def _perplexity(answers: Answers) -> float:
    return math.exp(min(-float(np.concatenate(answers.logprobs).mean()), MOST_NATS))


def _line(
    scenario: Scenario,
    arm: Arm,
    choice: MetricChoice,
    said: Ruled,
    found: Found | None,
    values: tuple[float | None, float | None],
) -> Judged:
    row, before, after = metric(choice.name), *values
    share = after - before if before is not None and after is not None else None
    return Judged(
        scenario=scenario.name,
        metric=choice.name,
        unit=row.unit,
        better=row.better,
        kind=row.kind,
        primary=choice.primary,
        baseline=scenario.baseline.name,
        candidate=arm.name,
        baseline_value=before,
        candidate_value=after,
        blocks=0 if found is None else found.tokens if found.part == TEXT else len(found.prompts),
        effect=said.effect if said.effect is not None else share,
        interval=said.interval,
        level=said.level,
        margin=choice.margin if choice.name == TEXT else None,
        mde=None,
        verdict=said.outcome if choice.primary else None,
        reason=said.reason,
        warnings=(),
        q=None,
    )


def _declared(arm: Arm, records: Sequence[Record]) -> str:
    """By what an arm is declared to change numerics, or "": its own word, else its patches', as its trial attested them."""
    if arm.equality is not None:
        return "the arm declares (equality: report)" if arm.equality == "report" else ""
    attested = (record.attestation for record in records if record.arm == arm.name and record.attestation is not None)
    patches = sorted({name for each in attested for name, patch in each.patches.items() if patch.get("changes_numerics")})
    return f"patch {patches[0]} declares" if patches else ""


def _as_declared(said: Ruled, declared: str) -> Ruled:
    """A difference that was declared is shown, and decides nothing."""
    if not declared or said.outcome not in (Outcome.REGRESSED, Outcome.IMPROVED):
        return said
    return replace(said, outcome=Outcome.INCONCLUSIVE, reason=f"differs, as {declared}, so accuracy decides: {said.reason}")


def _details(scenario: Scenario, arm: Arm, found: Found, records: Sequence[Record]) -> EqualityDetails:
    """Of a text, tokens are counted; of all else prompts."""
    asked, same, equal = len(found.prompts), sum(map(identical, found.prompts)), sum(map(found.allowed, found.prompts))
    if found.part == TEXT:
        first, second, _ = _answers(scenario, arm, TEXT, records)
        moved = np.abs(np.concatenate(first.logprobs) - np.concatenate(second.logprobs))
        most = max(found.tolerance, found.largest_floor)
        asked, same, equal = moved.size, int((moved == 0).sum()), int((moved <= most).sum())
    return EqualityDetails(
        scenario=scenario.name,
        baseline=scenario.baseline.name,
        candidate=arm.name,
        part=found.part,
        asked=asked,
        tokens=found.tokens,
        identical=same,
        equal=equal,
        parted=len(found.parted),
        floor_parted=found.floor_parted,
        largest=found.largest,
        floor=found.largest_floor,
        deterministic=found.deterministic,
        differences=tuple(each for each in found.prompts if not identical(each)),
    )
