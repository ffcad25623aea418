"""Answers paired item by item: what is called a drop, what is shown to be none, and what could not have been seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.analysis.verdicts.accuracy_verdict import LEAST_ITEMS, judge_items, judge_totals
from perfproof.analysis.verdicts.item_intervals import CHANGE_ERROR, detectable_drop, difference_interval, mcnemar_p
from perfproof.analysis.verdicts.paired_items import pair_items
from perfproof.model.verdicts.judged import Outcome

MIRROR = {Outcome.REGRESSED: Outcome.IMPROVED, Outcome.IMPROVED: Outcome.REGRESSED}
answers = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=LEAST_ITEMS, max_size=300)


def flips(items: int, lost: int, won: int, right: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Answers of both arms with so many items lost, won, and right in both."""
    before, after = np.zeros(items), np.zeros(items)
    before[:lost] = 1
    after[lost : lost + won] = 1
    before[lost + won : lost + won + right] = after[lost + won : lost + won + right] = 1
    return before, after


def test_three_hundred_equal_answers_show_that_at_most_a_point_is_lost() -> None:
    """No flips among 300 items is equivalence at one point; among 290 three more could still be lost in a hundred."""
    assert judge_items(pair_items("t", *flips(300, 0, 0)), margin=0.01).outcome is Outcome.EQUIVALENT
    assert judge_items(pair_items("t", *flips(290, 0, 0)), margin=0.01).outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(("items", "flip_rate"), [(200, 0.0), (200, 0.005), (400, 0.0), (1319, 0.02)])
def test_a_drop_of_the_margin_is_seldom_called_equivalent(items: int, flip_rate: float) -> None:
    """At most one run in twenty (1,000 runs, plus what chance allows)."""
    source, margin, wrong = np.random.default_rng(5), 0.01, 0
    for _ in range(1000):
        kind = source.choice(3, size=items, p=[flip_rate / 2 + margin, flip_rate / 2, 1 - flip_rate - margin])
        wrong += judge_items(pair_items("t", (kind == 0), (kind == 1)), margin=margin).outcome is Outcome.EQUIVALENT
    assert wrong <= 66


def test_a_real_drop_in_gsm8k_is_seen_with_pairs_and_not_without() -> None:
    """40 lost and 10 won of 1,319 is a drop; the same totals unpaired say nothing."""
    before, after = flips(1319, 40, 10, right=1000)
    paired = judge_items(pair_items("gsm8k", before, after), margin=0.01)
    assert paired.outcome is Outcome.REGRESSED
    totals = [(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(1319)) for values in (before, after)]
    unpaired = judge_totals("gsm8k", *totals, margin=0.01)
    assert unpaired.outcome is Outcome.INCONCLUSIVE
    assert not unpaired.paired
    assert "unpaired" in unpaired.reason
    assert paired.difference == pytest.approx(unpaired.difference)


def test_the_pasted_tables_could_have_seen_no_less_than_this() -> None:
    """Fifty questions see nothing under some thirty points, 1,319 unpaired nothing under five."""
    few = judge_totals("gsm8k", (0.58, 0.0705), (0.56, 0.0709), margin=0.01, items=50)
    many = judge_totals("gsm8k", (0.7870, 0.0113), (0.7862, 0.0113), margin=0.01, items=1319)
    assert few.outcome is many.outcome is Outcome.INCONCLUSIVE
    assert 0.28 < few.detectable < 0.35
    assert 0.045 < many.detectable < 0.06


@given(answers)
def test_swapping_the_arms_turns_a_drop_into_a_gain(pairs: list[tuple[bool, bool]]) -> None:
    """What the one direction calls regressed the other calls improved, with the interval mirrored."""
    before, after = (np.array(side, float) for side in zip(*pairs, strict=True))
    there, back = (judge_items(pair_items("t", *arms), margin=0.01) for arms in ((before, after), (after, before)))
    assert (there.lost, there.won) == (back.won, back.lost)
    assert there.interval == pytest.approx((-back.interval[1], -back.interval[0]))
    if there.outcome in MIRROR:
        assert back.outcome is MIRROR[there.outcome]


@given(answers, st.floats(0.005, 0.2), st.floats(0.005, 0.2))
def test_a_wider_margin_never_finds_a_drop_that_a_narrower_one_does_not(pairs: list[tuple[bool, bool]], one: float, other: float) -> None:
    """Monotone in the margin, both ways."""
    items = pair_items("t", *(np.array(side, float) for side in zip(*pairs, strict=True)))
    narrow, wide = (judge_items(items, margin=margin).outcome for margin in sorted((one, other)))
    if wide is Outcome.REGRESSED:
        assert narrow is Outcome.REGRESSED
    if narrow is Outcome.EQUIVALENT:
        assert wide is Outcome.EQUIVALENT


@given(answers, st.randoms(use_true_random=False))
def test_the_order_of_items_changes_nothing(pairs: list[tuple[bool, bool]], source: object) -> None:
    """Items are a set."""
    mixed = list(pairs)
    source.shuffle(mixed)  # type: ignore[attr-defined]
    first, second = (
        judge_items(pair_items("t", *(np.array(side, float) for side in zip(*one, strict=True))), margin=0.01) for one in (pairs, mixed)
    )
    assert first.reason == second.reason


def test_items_of_one_passage_count_less() -> None:
    """Twenty passages of ten items that move together widen the interval; passages of one item each do not narrow it."""
    before, after = flips(200, 20, 0)
    alone = difference_interval(pair_items("t", before, after), CHANGE_ERROR)
    together = difference_interval(pair_items("t", before, after, [str(place // 10) for place in range(200)]), CHANGE_ERROR)
    single = difference_interval(pair_items("t", before, after, [str(place) for place in range(200)]), CHANGE_ERROR)
    assert together[0] < alone[0]
    assert together[1] > alone[1]
    assert single[0] <= alone[0]
    assert single[1] >= alone[1]


def test_few_items_are_untestable() -> None:
    """Nineteen items decide nothing, whatever they say."""
    found = judge_items(pair_items("t", np.ones(19), np.zeros(19)), margin=0.01)
    assert found.outcome is Outcome.UNTESTABLE
    assert "20 are needed" in found.reason


def test_values_that_are_not_zero_or_one_are_judged_by_their_differences() -> None:
    """A mean logprob that falls by a hundredth in every item is a drop; McNemar has no say."""
    source = np.random.default_rng(1)
    before = source.normal(-2, 1, 400)
    found = judge_items(pair_items("t", before, before - 0.05 + source.normal(0, 0.01, 400)), margin=0.02)
    assert found.outcome is Outcome.REGRESSED
    assert found.p is None


def test_not_a_number_is_refused() -> None:
    """A NaN is no answer, and never a pass."""
    with pytest.raises(ValueError, match="finite"):
        pair_items("t", [1.0, math.nan], [1.0, 1.0])


@pytest.mark.parametrize("flip_rate", [0.0, 0.02, 0.1])
def test_what_is_called_detectable_is_detected(flip_rate: float) -> None:
    """At the printed drop about eight runs in ten are called regressed (between 70 and 92 %, 400 runs)."""
    items, source = 1000, np.random.default_rng(7)
    drop = detectable_drop(items, flip_rate, margin=0.01)
    rate = max(flip_rate, drop)
    lost, won = (rate + drop) / 2, (rate - drop) / 2
    found = 0
    for _ in range(400):
        kind = source.choice(3, size=items, p=[lost, won, 1 - lost - won])
        found += judge_items(pair_items("t", (kind == 0), (kind == 1)), margin=0.01).outcome is Outcome.REGRESSED
    assert 0.7 <= found / 400 <= 0.92


@pytest.mark.parametrize("flip_rate", [0.005, 0.02, 0.1])
def test_flips_without_a_drop_are_seldom_called_one(flip_rate: float) -> None:
    """At most 1 % of 600 runs, plus what chance allows."""
    items, source = 500, np.random.default_rng(3)
    alarms = 0
    for _ in range(600):
        kind = source.choice(3, size=items, p=[flip_rate / 2, flip_rate / 2, 1 - flip_rate])
        alarms += judge_items(pair_items("t", (kind == 0), (kind == 1)), margin=0.01).outcome is Outcome.REGRESSED
    assert alarms <= 14


def test_mcnemar_is_exact() -> None:
    """Ten lost and none won: two in 1,024."""
    assert mcnemar_p(10, 0) == pytest.approx(2 / 1024)
    assert mcnemar_p(0, 0) == 1.0
