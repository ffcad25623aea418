"""Whether a candidate answers what the baseline answers: token by token, logprob by logprob, against the baseline's second run.

In order: the answers of every trial are read from its record; each prompt's answer is compared with the baseline's (`Difference`), and so
is that of the baseline's second run: the floor. The verdict depends on the floor:

- Where the baseline repeated itself bit-identically, the engine is deterministic here, and any difference beyond the scenario's tolerance
  comes from the candidate: *regressed*. A difference that a tie explains (the tokens were no further apart than the tolerance) is
  *inconclusive*.
- Where it did not, the candidate is *regressed* only if too many of its prompts lie beyond the worst of the floor, or too many of its
  answers part from the baseline's, to be chance (one-sided, .01 over all parts and candidates).
- What an answer of the same tokens says otherwise (its text, the sum of its logprobs, a rank, why it ended) is no noise: *regressed*,
  unless the baseline's second run said it otherwise, too.
- Otherwise it is *equivalent*, in the words "identical on N prompts" where every bit is the same.

A text that the model scores has an interval: its perplexity, paired by token. Only that can be *improved*: answers equal the baseline's, or
they do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from perfproof.analysis.equality.answer_differences import TEXT, Answers, Incomparable, answers_of, compare, fields_of, identical
from perfproof.analysis.equality.outcome_rules import ERROR, MOST_NATS, Ruled, rule, rule_text, ruled
from perfproof.analysis.equality.part_comparison import PartComparison, chance_of_furthest
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
    """A judged line for each part and candidate of an equality scenario, except candidates whose equality is `off`.

    Source: `rules.rule`, `rules.rule_text`.
    """
    trials = latest(records)
    return tuple(_judged(scenario, arm, choice, trials) for arm, choice in _wanted_parts(scenario))


def details(scenario: Scenario, records: Sequence[Record]) -> tuple[EqualityDetails, ...]:
    """The details behind the lines of `judge`, for the report; parts that can't be compared are left out. Source: `compare`."""
    trials = latest(records)
    found = ((arm, _compared(scenario, arm, choice, trials)) for arm, choice in _wanted_parts(scenario))
    return tuple(_details(scenario, arm, each, trials) for arm, each in found if isinstance(each, PartComparison))


def power_sentences(scenario: Scenario) -> tuple[str, ...]:
    """The differences that a plan can detect, in one sentence. Source: `part_comparison.chance_of_furthest`."""
    prompts, again = _workload(scenario).prompts, _workload(scenario).again
    error = ERROR / max(1, len(_wanted_parts(scenario))) / 2
    needed = (count for count in range(1, prompts + 1) if chance_of_furthest(count, prompts, prompts * again) <= error)
    noisy = next((f"{count} of them beyond the worst of it" for count in needed), "more prompts than these")
    return (
        f"{number_format.count(prompts, 'prompt')}: where the baseline repeats itself bit-identically, a single difference is detected; "
        f"where it does not, it takes {noisy} to fail",
    )


def _wanted_parts(scenario: Scenario) -> list[tuple[Arm, MetricChoice]]:
    return [(arm, choice) for arm in scenario.candidates if arm.equality != "off" for choice in scenario.metrics]


def _trials(scenario: Scenario, arm: Arm, records: Sequence[Record]) -> list[Record]:
    """The trials of the baseline and of a candidate, then the baseline's further ones. Raises `Incomparable` where one is missing."""
    of = {(record.block, record.arm): record for record in records}
    baseline, trials = scenario.baseline.name, []
    for block, name in [(1, baseline), (1, arm.name), *((2 + n, baseline) for n in range(scenario.again))]:
        trial, what = of.get((block, name)), f"{name}{' (again)' if block > 1 else ''}"
        if trial is None:
            raise Incomparable(f"arm {what} has not run yet")
        if not counts(trial):
            raise Incomparable(f"arm {what} {trial.status}: {trial.reason.partition(chr(10))[0]}")
        trials.append(trial)
    return trials


def _answers(scenario: Scenario, arm: Arm, part: Part, records: Sequence[Record]) -> tuple[Answers, Answers, list[Answers]]:
    """The baseline's answers, the candidate's, and those of the baseline's further runs."""
    first, second, *again = (answers_of(record, part) for record in _trials(scenario, arm, records))
    return first, second, again


def _compared(scenario: Scenario, arm: Arm, choice: MetricChoice, records: Sequence[Record]) -> PartComparison | str:
    """The comparison, or a sentence that says why there is none."""
    part = cast(Part, choice.name)  # the document allows no other metric
    try:
        first, second, again = _answers(scenario, arm, part, records)
        return PartComparison(
            part=part,
            prompts=compare(first, second),
            floor=tuple(compare(first, each) for each in again),
            tokens=sum(row.size for row in first.tokens),
            tolerance=_workload(scenario).tolerance,
            fields=fields_of(first, second),
        )
    except Incomparable as error:
        return str(error)


def _workload(scenario: Scenario) -> EqualityWorkload:
    return EqualityWorkload.of(scenario.workload)


def _judged(scenario: Scenario, arm: Arm, choice: MetricChoice, records: Sequence[Record]) -> Judged:
    comparison = _compared(scenario, arm, choice, records)
    if isinstance(comparison, str):
        return _line(scenario, arm, choice, ruled(Outcome.UNTESTABLE, comparison), None, (None, None))
    verdict, values = _ruled(scenario, arm, choice, comparison, records)
    return _line(scenario, arm, choice, _as_declared(verdict, _declared(arm, records)), comparison, values)


def _ruled(
    scenario: Scenario, arm: Arm, choice: MetricChoice, comparison: PartComparison, records: Sequence[Record]
) -> tuple[Ruled, tuple[float, float]]:
    """The verdict on a comparison, with the baseline's value and the candidate's."""
    error = ERROR / len(_wanted_parts(scenario))
    if comparison.part == TEXT:
        first, second, again = _answers(scenario, arm, TEXT, records)
        verdict = rule_text(comparison, first, second, again, margin=choice.margin, error=error)
        return verdict, (_perplexity(first), _perplexity(second))
    before = 1 - comparison.floor_parted / (len(comparison.floor) * len(comparison.prompts))
    return rule(comparison, error), (before, sum(map(comparison.allowed, comparison.prompts)) / len(comparison.prompts))


def _perplexity(answers: Answers) -> float:
    return math.exp(min(-float(np.concatenate(answers.logprobs).mean()), MOST_NATS))


def _line(
    scenario: Scenario,
    arm: Arm,
    choice: MetricChoice,
    verdict: Ruled,
    comparison: PartComparison | None,
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
        blocks=0 if comparison is None else comparison.tokens if comparison.part == TEXT else len(comparison.prompts),
        effect=verdict.effect if verdict.effect is not None else share,
        interval=verdict.interval,
        level=verdict.level,
        margin=choice.margin if choice.name == TEXT else None,
        mde=None,
        verdict=verdict.outcome if choice.primary else None,
        reason=verdict.reason,
        warnings=(),
        q=None,
    )


def _declared(arm: Arm, records: Sequence[Record]) -> str:
    """Who declares that an arm changes numerics: the arm itself or its patches, as its trial attested them; "" if nobody does."""
    if arm.equality is not None:
        return "the arm declares (equality: report)" if arm.equality == "report" else ""
    attested = (record.attestation for record in records if record.arm == arm.name and record.attestation is not None)
    patches = sorted({name for each in attested for name, patch in each.patches.items() if patch.get("changes_numerics")})
    return f"patch {patches[0]} declares" if patches else ""


def _as_declared(verdict: Ruled, declared: str) -> Ruled:
    """A declared difference is shown and does not decide."""
    if not declared or verdict.outcome not in (Outcome.REGRESSED, Outcome.IMPROVED):
        return verdict
    return replace(verdict, outcome=Outcome.INCONCLUSIVE, reason=f"differs, as {declared}, so accuracy decides: {verdict.reason}")


def _details(scenario: Scenario, arm: Arm, comparison: PartComparison, records: Sequence[Record]) -> EqualityDetails:
    """The details of a comparison, which count tokens of a text, and prompts otherwise."""
    total, same, equal = len(comparison.prompts), sum(map(identical, comparison.prompts)), sum(map(comparison.allowed, comparison.prompts))
    if comparison.part == TEXT:
        first, second, _ = _answers(scenario, arm, TEXT, records)
        moved = np.abs(np.concatenate(first.logprobs) - np.concatenate(second.logprobs))
        most = max(comparison.tolerance, comparison.largest_floor)
        total, same, equal = moved.size, int((moved == 0).sum()), int((moved <= most).sum())
    return EqualityDetails(
        scenario=scenario.name,
        baseline=scenario.baseline.name,
        candidate=arm.name,
        part=comparison.part,
        asked=total,
        tokens=comparison.tokens,
        identical=same,
        equal=equal,
        parted=len(comparison.parted),
        floor_parted=comparison.floor_parted,
        largest=comparison.largest,
        floor=comparison.largest_floor,
        deterministic=comparison.deterministic,
        differences=tuple(each for each in comparison.prompts if not identical(each)),
    )
