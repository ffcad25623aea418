"""Counts of two arms, judged: the margin, what only one arm does, and what does not agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.analysis.verdicts.exact_counts import CountFinding, judge_count, unsteady
from perfproof.model.records.counts import Metric
from tests.analysis.counts.test_count_comparison import phase


def judged(before: Sequence[Mapping[str, int]], after: Sequence[Mapping[str, int]], metric: Metric = "python_instructions") -> CountFinding:
    """The finding on functions of so many instructions, a round a block."""
    return judge_count([(phase(one), phase(other)) for one, other in zip(before, after, strict=True)], metric, 0.005)


@pytest.mark.parametrize(
    ("now", "outcome", "words"),
    [
        (10_000, "identical", "identical to the last one: 10,000 Python instructions in 2 trials of each arm"),
        (10_001, "equivalent", "within the margin: 10,000 to 10,001 Python instructions (+0.010 %) in 2 trials of each arm; f +1"),
        (10_051, "regressed", "more Python work: 10,000 to 10,051 Python instructions (+0.51 %) in 2 trials of each arm; f +51"),
        (9_949, "less", "less Python work: 10,000 to 9,949 Python instructions (-0.51 %) in 2 trials of each arm; f -51"),
    ],
)
def test_the_margin_decides(now: int, outcome: str, words: str) -> None:
    """Nothing is identical, up to the margin equivalent, beyond it more or less Python work, with the functions behind it."""
    found = judged([{"m:f": 10_000}] * 2, [{"m:f": now}] * 2)
    assert (found.verdict.outcome, found.verdict.reason, found.verdict.warnings) == (outcome, words, ())


def test_one_trial_decides_and_says_that_nothing_confirmed_it() -> None:
    """One process a side is enough for a verdict; what differs there waits for a second one."""
    differs, same = judged([{"m:f": 100}], [{"m:f": 150}]), judged([{"m:f": 100}], [{"m:f": 100}])
    assert differs.verdict.outcome == "regressed"
    assert differs.verdict.warnings == ("what differs was not confirmed by a second process of each arm",)
    assert (same.verdict.outcome, same.verdict.warnings) == ("identical", ())


def test_what_the_seed_of_hashes_changes_in_both_arms_is_no_change() -> None:
    """A function whose count goes from block to block, in both arms alike, has not changed."""
    found = judged([{"m:f": 100, "m:set": 7}, {"m:f": 100, "m:set": 9}], [{"m:f": 100, "m:set": 7}, {"m:f": 100, "m:set": 9}])
    assert (found.verdict.outcome, found.left_out) == ("identical", ())


def test_what_does_not_agree_is_left_out_and_named_with_its_share() -> None:
    """A function that one arm's trials count otherwise is in neither sum, and the answer says how much of the work it is."""
    found = judged([{"m:f": 90, "m:odd": 10}, {"m:f": 90, "m:odd": 10}], [{"m:f": 90, "m:odd": 10}, {"m:f": 90, "m:odd": 11}])
    assert (found.verdict.outcome, found.baseline, found.left_out) == ("identical", 90, ("m:odd",))
    assert found.verdict.warnings == ("left out, not the same each time, 10.0 % of the Python instructions: m:odd",)


def test_where_most_does_not_agree_nothing_is_said() -> None:
    """A sum of the little that is left would be a silent pass."""
    found = judged([{"m:f": 10, "m:odd": 90}, {"m:f": 10, "m:odd": 91}], [{"m:f": 10, "m:odd": 92}, {"m:f": 10, "m:odd": 93}])
    assert (found.verdict.outcome, found.verdict.reason) == ("untestable", "most of it was not the same each time: m:odd")


def test_what_two_rounds_of_a_trial_did_not_agree_on_is_left_out() -> None:
    """The child names it; a comprehension's name is its function's."""
    pair = phase({"m:f": 5, "m:odd": 3}, odd=["m:odd.<locals>.<listcomp>"]), phase({"m:f": 5, "m:odd": 4})
    assert unsteady([pair], "python_instructions") == {"m:odd"}


def test_a_c_call_of_one_arm_alone_is_named_whatever_the_margin() -> None:
    """One new call among thousands lies within the margin, and is named."""
    pair = phase({"m:f": 5}, {"len": 1_000}), phase({"m:f": 5}, {"len": 1_000, "math.sqrt": 1})
    found = judge_count([pair] * 2, "c_calls", 0.005)
    assert found.verdict.outcome == "equivalent"
    assert found.verdict.reason.endswith("of the candidate alone: math.sqrt +1")
    assert [one.name for one in found.one_sided] == ["math.sqrt"]


def test_bytes_where_there_were_none_are_more_work() -> None:
    """No percentage can be given of nothing; it is beyond every margin."""
    found = judge_count([(phase({}, bytes=0), phase({}, bytes=8))] * 2, "torch_bytes", 0.005)
    assert (found.verdict.outcome, found.change) == ("regressed", None)
    assert "there were none" in found.verdict.reason
    assert "of the candidate alone: aten::add +8" in found.verdict.reason


COUNTS = st.dictionaries(st.sampled_from(["m:f", "m:g", "n:h"]), st.integers(0, 10_000), min_size=1)


@settings(max_examples=60, deadline=None)
@given(COUNTS, COUNTS, st.integers(1, 4))
def test_the_totals_differ_by_what_changed(before: dict[str, int], after: dict[str, int], blocks: int) -> None:
    """What is told of the functions adds up to the change, and the other way round the verdict is the opposite."""
    found, back = judged([before] * blocks, [after] * blocks), judged([after] * blocks, [before] * blocks)
    assert sum(one.change for one in found.changed) == found.candidate - found.baseline
    assert {one.name for one in found.changed} == {name for name in {**before, **after} if before.get(name, 0) != after.get(name, 0)}
    assert (found.verdict.outcome == "identical") is (not found.changed)
    if found.baseline and back.baseline and abs(found.candidate - found.baseline) > 0.01 * max(found.baseline, back.baseline):
        assert {found.verdict.outcome, back.verdict.outcome} == {"regressed", "less"}
