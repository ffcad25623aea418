"""Accuracy judged from records: which tasks decide, what the floor does to them, what makes them untestable, what a plan foresees."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from perfproof.analysis.judging import accuracy_tasks
from perfproof.analysis.judging.apply_policy import decide
from perfproof.analysis.judging.design_power import design_power
from perfproof.analysis.judging.judge import judge_records
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.eval_items import AGAIN, FIRST, Item, TaskItems, raw_of
from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.model.verdicts.policy import DEFAULT_POLICY
from tests import factory

Scores = Sequence[float]
N = 400


def definition(asked: Mapping[str, Any], metrics: Mapping[str, Any] | None = None, **workload: Any) -> dict[str, Any]:
    return {
        **factory.DEFINITION,
        "name": "answers",
        "workload": {"kind": "accuracy", "through": "offline", "model": "m", "tasks": dict(asked), **workload},
        "metrics": metrics or {"accuracy": {"primary": True, "margin": 0.02}},
        "blocks": None,
    }


def task(scores: Scores, name: str = "sums", which: str = "none", metric: str = "acc", first: int = 0, prompt: str = "p") -> TaskItems:
    items = {
        str(first + place): Item(score=float(score), digest=f"{prompt}{place:05d}".encode()[:6].ljust(6))
        for place, score in enumerate(scores)
    }
    return TaskItems(task=name, filter=which, metric=metric, items=items)


def records(
    before: Sequence[TaskItems], after: Sequence[TaskItems], again: Sequence[TaskItems] | None = None, said: Mapping[str, Any] | None = None
) -> list[Record]:
    """A baseline and a candidate; the baseline's second run is the first unless given."""
    known = said or definition({one.task: {} for one in before})
    shared = {"measurements": {}, "witnesses": {}, "work": {}}
    raw = {**raw_of(before, FIRST), **raw_of(before if again is None else again, AGAIN)}
    return [
        factory.record(known, raw=raw, **shared),
        factory.record(known, arm="after", position=1, raw=raw_of(after, FIRST), **shared),
    ]


def rows(found: Sequence[Record]) -> dict[str, Judged]:
    return {row.metric: row for scenario in judge_records(found) for row in scenario.judged}


def answers(right: int, lost: int = 0, won: int = 0) -> tuple[list[float], list[float]]:
    """`N` items of which the baseline has `right`; the candidate loses and wins some."""
    before = [1.0] * right + [0.0] * (N - right)
    return before, [0.0] * lost + [1.0] * (right - lost) + [1.0] * won + [0.0] * (N - right - won)


def test_equal_answers_are_equivalent_and_pass() -> None:
    """Not one item changed: at most 0.75 points may be lost, inside the margin of two; the gate passes."""
    before, after = answers(200)
    found = rows(records([task(before)], [task(after)]))
    assert {name: row.verdict for name, row in found.items()} == {"accuracy@sums": Outcome.EQUIVALENT}
    row = found["accuracy@sums"]
    assert (row.baseline_value, row.candidate_value, row.blocks, row.kind) == (0.5, 0.5, N, "share")
    assert row.reason.endswith("the baseline against itself changed 0 of 400")
    assert decide(list(found.values()), DEFAULT_POLICY).exit_code == 0


def test_a_drop_is_told_in_points_and_fails_the_gate() -> None:
    """Twenty items lost of four hundred: five points, exit code 1, in the words of accuracy."""
    before, after = answers(200, lost=20)
    found = rows(records([task(before)], [task(after)]))
    row = found["accuracy@sums"]
    assert row.verdict is Outcome.REGRESSED
    assert "20 of 400 items lost, 0 won" in row.reason
    assert "points" in row.reason
    assert decide(list(found.values()), DEFAULT_POLICY).exit_code == 1


def test_tasks_share_the_error_and_a_named_one_has_its_own_margin() -> None:
    """Two tasks: each is judged at half the error; `accuracy@words` says the margin of that task alone."""
    before, after = answers(200)
    metrics = {"accuracy": {"primary": True, "margin": 0.02}, "accuracy@words": {"primary": True, "margin": 0.05}}
    said = definition({"sums": {}, "words": {}}, metrics)
    pair = [task(before), task(before, "words")], [task(after), task(after, "words")]
    found = rows(records(*pair, said=said))
    assert [found[f"accuracy@{name}"].margin for name in ("sums", "words")] == [0.02, 0.05]
    alone = rows(records([task(before)], [task(after)]))["accuracy@sums"]
    assert alone.level == pytest.approx(0.98)
    assert found["accuracy@sums"].level == pytest.approx(0.99)


def test_of_several_filters_the_named_one_decides_and_the_other_is_shown() -> None:
    """gsm8k has two: the scenario's is judged, the other has no verdict and never gates."""
    before, after = answers(200, lost=20)
    kinds = [task(before, "gsm8k", "strict", "exact_match"), task(before, "gsm8k", "flexible", "exact_match")]
    other = [task(after, "gsm8k", "strict", "exact_match"), task(before, "gsm8k", "flexible", "exact_match")]
    found = rows(records(kinds, other, said=definition({"gsm8k": {"filter": "flexible"}})))
    assert found["accuracy@gsm8k"].verdict is Outcome.EQUIVALENT
    shown = found["accuracy@gsm8k, strict, exact_match"]
    assert (shown.verdict, shown.primary) == (None, False)
    assert shown.effect == -0.05
    assert next(iter(found)) == "accuracy@gsm8k"


def test_a_group_is_judged_by_its_tasks() -> None:
    """What lm_eval made of a group are tasks with names of their own; all of them decide."""
    before, after = answers(200)
    parts = [task(before, f"mmlu_{name}") for name in ("law", "art")]
    found = rows(records(parts, [task(after, f"mmlu_{name}") for name in ("law", "art")], said=definition({"mmlu": {}})))
    assert {name: row.verdict for name, row in found.items()} == dict.fromkeys(
        ("accuracy@mmlu_law", "accuracy@mmlu_art"), Outcome.EQUIVALENT
    )


def test_a_baseline_that_differs_from_itself_by_more_than_chance_makes_the_task_untestable() -> None:
    """Twenty items lost between the baseline's own two runs: nothing can be told from another arm's changes."""
    before, after = answers(200, lost=20)
    row = rows(records([task(before)], [task(before)], again=[task(after)]))["accuracy@sums"]
    assert row.verdict is Outcome.UNTESTABLE
    assert "the baseline against itself changed 20 of 400 (20 lost, 0 won), more than chance explains" in row.reason


def test_the_floor_raises_what_could_have_been_seen() -> None:
    """A baseline that changes a tenth of its items both ways sees only larger drops."""
    before, after = answers(200, lost=20, won=20)
    still = rows(records([task(before)], [task(before)]))["accuracy@sums"]
    moved = rows(records([task(before)], [task(before)], again=[task(after)]))["accuracy@sums"]
    assert moved.mde is not None
    assert still.mde is not None
    assert moved.mde > still.mde


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (task([1.0] * (N - 50)), "the candidate lacks 50 items"),
        (task([1.0] * N, prompt="q"), "document or prompt differ in 400 items"),
        (task([1.0] * N, "other"), "the candidate has no items of it"),
    ],
)
def test_arms_that_were_not_asked_the_same_are_untestable(after: TaskItems, told: str) -> None:
    """Different limits, other prompts, a task that is missing: told in words, exit code 3."""
    found = rows(records([task([1.0] * N)], [after], said=definition({"sums": {}})))
    assert found["accuracy@sums"].verdict is Outcome.UNTESTABLE
    assert told in found["accuracy@sums"].reason
    assert decide(list(found.values()), DEFAULT_POLICY).exit_code == 3


def test_values_that_are_no_shares_are_not_judged_in_points() -> None:
    """A mean logprob has no points; the words say which metric to name."""
    values = list(np.linspace(-4, -1, N))
    row = rows(records([task(values)], [task(values)]))["accuracy@sums"]
    assert row.verdict is Outcome.UNTESTABLE
    assert "name another metric" in row.reason


def test_what_is_no_share_is_not_shown_in_points_either() -> None:
    """A perplexity beside the accuracy that decides: shown without a number in points, while the accuracy is judged."""
    before, after = answers(200)
    nats = list(np.linspace(1, 4, N))
    found = rows(records([task(before), task(nats, metric="perplexity")], [task(after), task(nats, metric="perplexity")]))
    assert found["accuracy@sums"].verdict is Outcome.EQUIVALENT
    shown = found["accuracy@sums, perplexity"]
    assert (shown.verdict, shown.effect) == (None, None)
    assert "mean an item 2.5 to 2.5" in shown.reason


def test_a_metric_of_which_less_is_better_does_not_decide() -> None:
    """However a record came by it: another metric must be named."""
    before, after = answers(200, lost=40)
    row = rows(records([task(before, metric="pct_stereotype")], [task(after, metric="pct_stereotype")]))["accuracy@sums"]
    assert row.verdict is Outcome.UNTESTABLE
    assert "of pct_stereotype less is better: name another metric" in row.reason


def test_empty_answers_of_one_arm_make_the_task_untestable() -> None:
    """A record keeps which items had no answer: twenty of the candidate's alone are no drop of five points."""
    before, after = answers(200, lost=20)
    silent = task(after)
    silent = dataclasses.replace(
        silent, items={name: dataclasses.replace(item, empty=int(name) < 20) for name, item in silent.items.items()}
    )
    row = rows(records([task(before)], [silent]))["accuracy@sums"]
    assert row.verdict is Outcome.UNTESTABLE
    assert "the candidate left 20 of 400 items without an answer" in row.reason


def test_answers_that_are_all_wrong_prove_nothing() -> None:
    """A model at the floor has nothing to lose: *untestable*, not *equivalent*; a candidate that rises from there is judged."""
    wrong = task([0.0] * N)
    (row,) = rows(records([wrong], [wrong])).values()
    assert row.verdict == Outcome.UNTESTABLE
    assert row.reason.startswith("neither arm has more than 0.00 points right, so that a drop of 2.00 points is not possible")
    (better,) = rows(records([wrong], [task([1.0] * N)])).values()
    assert better.verdict == Outcome.IMPROVED


def test_a_failed_trial_makes_every_task_untestable() -> None:
    """The reason is the trial's own."""
    before, after = answers(200)
    first, second = records([task(before)], [task(after)])
    failed = factory.record(first.definition, arm="after", position=1, status="failed", reason="the server exited with code 1", raw={})
    row = rows([first, failed])["accuracy@sums"]
    assert (row.verdict, row.reason) == (Outcome.UNTESTABLE, "arm after: the server exited with code 1")
    assert rows([first])["accuracy@sums"].reason == "arm after was not measured"
    assert second.status == "ok"


def test_no_second_run_is_warned_of() -> None:
    """Records without a floor are judged, and say that they have none."""
    before, after = answers(200)
    row = rows(records([task(before)], [task(after)], again=[]))["accuracy@sums"]
    assert row.verdict is Outcome.EQUIVALENT
    assert row.warnings == ("the baseline did not run a second time: there is no noise floor",)


def test_details_have_mcnemars_table_the_floor_and_the_items_that_changed() -> None:
    """Everything that the page's panel draws, from the records alone."""
    before, after = answers(200, lost=3, won=1)
    (found,) = accuracy_tasks.details(records([task(before, first=100)], [task(after, first=100)]))
    (one,) = found.tasks
    assert (found.scenario, found.baseline, found.candidate, found.through) == ("answers", "before", "after", "offline")
    assert (one.both, one.lost, one.won, one.neither) == (197, 3, 1, 199)
    assert (one.lost_items, one.won_items) == ((100, 101, 102), (300,))
    assert one.p == pytest.approx(0.625)
    assert one.baseline_error == pytest.approx(math.sqrt(0.25 * N / (N - 1) / N))
    assert one.floor is not None
    assert (one.floor.items, one.floor.rate) == (N, 0.0)
    assert one.verdict is not None


def test_a_plan_says_what_the_items_can_show() -> None:
    """The detectable drop in points before anything runs; where the number of items is not known, how to make it so."""
    known = scenario_of(definition({"sums": {}}, limit=1319), source="a.yaml")
    (told,) = design_power(known, (), "machine").sentences
    assert told.startswith("sums: 1,319 items detect a drop of 2.")
    assert "is called equivalent" in told
    few = design_power(scenario_of(definition({"sums": {}}, limit=50), source="a.yaml"), (), "machine").sentences[0]
    assert "stays inconclusive" in few
    unknown = design_power(scenario_of(definition({"gsm8k": {}}), source="a.yaml"), (), "machine").sentences[0]
    assert "known only once lm_eval has loaded the task" in unknown


def test_items_that_share_a_passage_move_together() -> None:
    """Twenty-four items lost: of as many passages that is a drop, of one passage it may be that passage's own luck."""
    before, after = answers(300, lost=24)

    def judged(size: int) -> Judged:
        """The task with so many items a passage, one after the other."""
        shared = [
            dataclasses.replace(one, items={name: dataclasses.replace(item, passage=int(name) // size) for name, item in one.items.items()})
            for one in (task(before), task(after))
        ]
        (row,) = rows(records([shared[0]], [shared[1]], said=definition({"sums": {"passage": "context"}}))).values()
        return row

    alone, together, one = judged(1), judged(24), judged(N)
    assert alone.verdict == Outcome.REGRESSED
    assert "24 of 400 items (of 400 passages) lost, 0 won" in alone.reason
    assert together.verdict == Outcome.INCONCLUSIVE
    assert "(of 17 passages)" in together.reason
    assert one.interval == (-1.0, 1.0)
