"""Two sides of runs: which of them can be compared, in what order they were measured, and the interval of unpaired ones."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from perfproof.analysis.sides import cases, judge_sides
from perfproof.analysis.sides.measured_order import BASELINE, CANDIDATE, order
from perfproof.model.records.result_runs import ResultRun, ResultValue, Word
from perfproof.model.verdicts.judged import Outcome

ASKED = judge_sides.Question(margin=0.02, names=("a", "b"), scenario="runs")


def run(
    value: float = 1.0, at: float | None = None, *, asked: dict[str, Word] | None = None, unit: str = "tok/s", **more: Any
) -> ResultRun:
    """A run with one headline value."""
    values = (ResultValue(metric="throughput", value=value, unit=unit, better="higher", headline=True),)
    return ResultRun(source=f"run {value} at {at}", values=values, asked=asked or {}, at=at, **more)


LOADS = st.dictionaries(st.sampled_from(["rate", "prompts", "model"]), st.sampled_from([1, 2, "inf"]), max_size=3)


@given(before=st.lists(LOADS, min_size=1, max_size=5), after=st.lists(LOADS, min_size=1, max_size=5))
def test_no_run_is_lost_and_none_counts_twice(before: list[dict[str, Word]], after: list[dict[str, Word]]) -> None:
    """Every run stands in one case, or its load is named as one side's alone."""
    first, second = ([run(number + 1.0, asked=asked) for number, asked in enumerate(side)] for side in (before, after))
    found = cases.match(first, second)
    for side, used in (
        (first, [one for case in found.cases for one in case.before]),
        (second, [one for case in found.cases for one in case.after]),
    ):
        assert len({id(one) for one in used}) == len(used)
        assert len(used) == len(side) or found.left_out


@given(before=st.lists(LOADS, min_size=1, max_size=5), after=st.lists(LOADS, min_size=1, max_size=5))
def test_runs_of_a_side_that_were_asked_otherwise_are_no_repeats(before: list[dict[str, Word]], after: list[dict[str, Word]]) -> None:
    """Within a case each side has one load; where the two sides' loads differ, that is named."""
    found = cases.match([run(asked=asked) for asked in before], [run(asked=asked) for asked in after])
    for case in found.cases:
        loads = [
            {tuple(sorted((name, str(word)) for name, word in one.asked.items())) for one in side} for side in (case.before, case.after)
        ]
        assert [len(side) for side in loads] == [1, 1]
        assert loads[0] == loads[1] or case.unequal or case.other


def test_a_number_is_a_number_however_it_is_spelt() -> None:
    """4, 4.0 and "4" are one load; "4.5" is another, and true is no number."""
    assert cases.match([run(asked={"rate": 4})], [run(asked={"rate": "4.0"})]).cases[0].unequal == ()
    assert cases.match([run(asked={"rate": 4})], [run(asked={"rate": 4.5})]).cases[0].unequal == ("rate: 4 against 4.5",)
    assert cases.match([run(asked={"rate": True})], [run(asked={"rate": 1})]).cases[0].unequal == ("rate: True against 1",)


def test_work_that_differs_from_run_to_run_of_a_side_is_named() -> None:
    """Another seed asks other prompts: no obstacle as long as the sides' means are alike."""
    side = [run(done={"output tokens": 100}), run(done={"output tokens": 150})]
    (case,) = cases.match(side, [run(done={"output tokens": 125})]).cases
    assert (case.unequal, case.other) == ((), ("output tokens of the baseline's runs: 100 to 150",))


@given(sequence=st.lists(st.booleans(), min_size=2, max_size=16).filter(lambda one: len(set(one)) == 2), shift=st.permutations(range(16)))
def test_turns_are_read_from_the_dates_alone(sequence: list[bool], shift: list[int]) -> None:
    """In whatever order the runs are named: pairs where each two neighbours in time are of two sides, and nothing else."""
    runs = [(second, run(at=1e9 + 60 * place)) for place, second in enumerate(sequence)]
    shuffled = sorted(runs, key=lambda one: shift[int(one[1].at or 0) % 16])
    before, after = ([one for second, one in shuffled if second is side] for side in (False, True))
    found = order(before, after)
    in_turns = len(sequence) % 2 == 0 and all(sequence[at] != sequence[at + 1] for at in range(0, len(sequence), 2))
    assert bool(found.pairs) is in_turns
    assert [side == CANDIDATE for side, _ in found.places] == sequence
    for first, second in found.pairs:
        assert abs((before[first].at or 0) - (after[second].at or 0)) == 60


@pytest.mark.parametrize("moments", [([None, 1.0], [2.0, 3.0]), ([1.0, 1.0], [2.0, 3.0]), ([1.0, 2.0], [2.0, 3.0])])
def test_dates_that_are_missing_or_shared_say_nothing(moments: tuple[list[float | None], list[float | None]]) -> None:
    """Half an order is none."""
    found = order([run(at=at) for at in moments[0]], [run(at=at) for at in moments[1]])
    assert (found.pairs, found.places) == ((), ())
    assert "nobody knows whether they took turns" in found.how
    assert {side for side, _ in order([run(at=1.0)], [run(at=2.0)]).places} == {BASELINE, CANDIDATE}


VALUES = st.lists(st.floats(0.5, 2.0), min_size=2, max_size=9)


@settings(deadline=None)
@given(before=VALUES, after=VALUES)
def test_unpaired_sides_have_welchs_interval_and_no_verdict_of_a_change(before: list[float], after: list[float]) -> None:
    """As scipy has it, of the logarithms, at the level of one look."""
    (case,) = cases.match([run(value) for value in before], [run(value) for value in after]).cases
    (line,) = judge_sides.judge(case, ASKED).judged
    assert line.verdict is Outcome.INCONCLUSIVE
    assert line.effect == pytest.approx(math.expm1(np.mean(np.log(after)) - np.mean(np.log(before))), abs=1e-9)
    if len(set(before)) > 1 or len(set(after)) > 1:
        welch = stats.ttest_ind(np.log(after), np.log(before), equal_var=False).confidence_interval(0.98)
        assert line.interval == pytest.approx((math.expm1(min(welch.low, 700)), math.expm1(min(welch.high, 700))), rel=1e-6, abs=1e-9)


def test_units_are_converted_or_the_metric_is_left_out() -> None:
    """0.0068 s is 6.8 ms; milliseconds and tokens have nothing in common."""
    (case,) = cases.match([run(6.8, unit="ms")], [run(0.0068, unit="s")]).cases
    (one,) = judge_sides.judge(case, ASKED).compared
    assert (one.before, one.after, one.unit) == ((6.8,), (6.8,), "ms")
    (case,) = cases.match([run(6.8, unit="ms")], [run(6.8, unit="tok/s")]).cases
    found = judge_sides.judge(case, ASKED)
    assert (found.compared, found.left_out) == ((), ("units that have nothing in common: throughput",))


def test_a_metric_that_one_run_lacks_is_left_out_by_name() -> None:
    """The mean of the others would be of other runs than the rest."""
    lacking = ResultRun(source="x", values=())
    (case,) = cases.match([run(), lacking], [run()]).cases
    assert judge_sides.judge(case, ASKED).left_out == ("1 of 2 runs of the baseline do not have: throughput",)


def test_a_drift_under_one_fixed_order_is_no_change() -> None:
    """A B, A B, A B on a machine that loses 3 % from run to run: the second of each pair is slower, and nothing changed."""
    chance = np.random.default_rng(1)
    values = [100 * 0.97**place * math.exp(chance.normal(0, 0.001)) for place in range(16)]
    runs = [run(value, at=1e9 + place) for place, value in enumerate(values)]
    (case,) = cases.match(runs[::2], runs[1::2]).cases
    (line,) = judge_sides.judge(case, ASKED).judged
    assert line.verdict is Outcome.INCONCLUSIVE
    assert "a comes first in every block" in line.reason


def test_a_headline_that_one_of_several_runs_lacks_is_untestable() -> None:
    """A run whose requests all failed has no rate: leaving it out would be a pass without a word."""
    lacking = ResultRun(source="x", values=())
    (case,) = cases.match([run(), run(1.1)], [run(), lacking]).cases
    (line,) = judge_sides.judge(case, ASKED).judged
    assert (line.verdict, line.reason) == (Outcome.UNTESTABLE, "1 of 2 runs of the candidate do not have it")


def test_metrics_of_all_loads_share_the_error() -> None:
    """Of four loads, each interval is as wide as one of four metrics' would be."""
    (case,) = cases.match([run(), run(1.1)], [run(), run(1.2)]).cases
    (alone,), (shared,) = (judge_sides.judge(case, replace(ASKED, cases=count)).judged for count in (1, 4))
    assert (alone.level, shared.level) == (0.98, 0.995)
    assert alone.interval is not None
    assert shared.interval is not None
    assert shared.interval[0] < alone.interval[0]
