"""How scenarios about answers are judged, by their kind's `judged_by`: a judge, and what a plan can detect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from perfproof.analysis.equality import equality_verdict
from perfproof.analysis.judging import accuracy_tasks
from perfproof.model.kinds import kind_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.judged import Judged
from perfproof.model.workloads.kind import JudgedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerJudge:
    """`judge` makes the lines of a scenario from its latest trials, `power_sentences` says what a run can detect."""

    judge: Callable[[Scenario, Sequence[Record]], tuple[Judged, ...]]
    power_sentences: Callable[[Scenario], tuple[str, ...]]


JUDGES: Mapping[JudgedBy, AnswerJudge] = {
    "bits": AnswerJudge(judge=equality_verdict.judge, power_sentences=equality_verdict.power_sentences),
    "items": AnswerJudge(judge=accuracy_tasks.judge, power_sentences=accuracy_tasks.power_sentences),
}


def judge_of(scenario: Scenario) -> AnswerJudge | None:
    """The judge of a scenario about answers; None for one that is judged over blocks.

    Source: the kind's `judged_by`.
    """
    return JUDGES.get(kind_of(scenario.workload).judged_by)
