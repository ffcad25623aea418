"""How scenarios are judged that are not judged over blocks: a judge for each way of judging, and what a plan can see of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from perfproof.analysis.equality import equality_verdict
from perfproof.analysis.judging import accuracy_tasks, count_scenario
from perfproof.model.kinds import kind_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.judged import Judged
from perfproof.model.workloads.kind import JudgedBy


def _goes_on(scenario: Scenario, records: Sequence[Record], judged: Sequence[Judged]) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerJudge:
    """`judge` makes the lines of a scenario from its latest trials, `power_sentences` say what a run can detect, `stop` why it needs
    no more blocks by these lines."""

    judge: Callable[[Scenario, Sequence[Record]], tuple[Judged, ...]]
    power_sentences: Callable[[Scenario], tuple[str, ...]]
    stop: Callable[[Scenario, Sequence[Record], Sequence[Judged]], str] = _goes_on


JUDGES: Mapping[JudgedBy, AnswerJudge] = {
    "bits": AnswerJudge(judge=equality_verdict.judge, power_sentences=equality_verdict.power_sentences),
    "items": AnswerJudge(judge=accuracy_tasks.judge, power_sentences=accuracy_tasks.power_sentences),
    "counts": AnswerJudge(judge=count_scenario.judge, power_sentences=count_scenario.power_sentences, stop=count_scenario.stop),
}


def judge_of(scenario: Scenario) -> AnswerJudge | None:
    """The judge of a scenario about answers or counts; None for one that is judged over blocks.

    Source: the kind's `judged_by`.
    """
    return JUDGES.get(kind_of(scenario.workload).judged_by)
