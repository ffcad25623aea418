"""Exact counts, and rates of error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.analysis.stats.alpha_spending import one_look
from perfproof.analysis.verdicts.error_rates import judge_rates
from perfproof.analysis.verdicts.exact_counts import judge_witness
from perfproof.model.verdicts.judged import Outcome


def test_equal_counts_are_exactly_equal_even_where_they_are_zero() -> None:
    """No copy in either arm is a pass."""
    verdict = judge_witness([0, 0], [0, 0], unit="B")
    assert verdict.outcome is Outcome.EQUIVALENT
    assert verdict.exact
    assert verdict.reason == "exactly equal in 2 trials of each arm: 0 B"


def test_one_more_byte_is_a_regression_and_one_less_an_improvement() -> None:
    """Exact counts need no test, and the direction is the metric's."""
    assert judge_witness([100] * 6, [101] * 6).outcome is Outcome.REGRESSED
    assert judge_witness([100] * 6, [99] * 6).outcome is Outcome.IMPROVED
    assert judge_witness([100] * 6, [101] * 6, "higher").outcome is Outcome.IMPROVED
    assert judge_witness([0] * 6, [1] * 6).outcome is Outcome.REGRESSED


def test_a_count_is_told_to_its_last_figure() -> None:
    """A reason that says "exactly" rounds nothing: one byte more in a million is seen in it."""
    verdict = judge_witness([1_000_000] * 6, [1_000_001] * 6, unit="B")
    assert verdict.reason == "exactly 1,000,001 against 1,000,000 B (+0.000 %) in 6 trials of each arm"


def test_counts_that_differ_between_blocks_are_equal_only_if_they_are_so_in_every_block() -> None:
    """A seed per block may change the work, the same for both arms; counts that vary otherwise are untestable."""
    assert judge_witness([1, 2], [1, 2]).outcome is Outcome.EQUIVALENT
    verdict = judge_witness([1, 2], [2, 1])
    assert verdict.outcome is Outcome.UNTESTABLE
    assert "noisy" in verdict.reason


@pytest.mark.parametrize(("before", "after"), [([], []), ([1], [1, 1]), ([1, None], [1, 1]), ([1.0], [float("nan")])])
def test_missing_counts_are_untestable(before: list[float | None], after: list[float | None]) -> None:
    """No trial, an unpaired one, or one without its count."""
    assert judge_witness(before, after).outcome is Outcome.UNTESTABLE


def test_a_margin_may_be_granted_to_a_witness() -> None:
    """Within the margin a different count is equivalent, and the reason tells both."""
    assert judge_witness([100] * 2, [101] * 2, margin=0.02).outcome is Outcome.EQUIVALENT
    assert judge_witness([100] * 2, [103] * 2, margin=0.02).outcome is Outcome.REGRESSED


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.integers(1, 9))
def test_swapping_the_arms_of_a_witness_flips_it(before: int, after: int, trials: int) -> None:
    """Regressed one way is improved the other."""
    flipped = {Outcome.REGRESSED: Outcome.IMPROVED, Outcome.IMPROVED: Outcome.REGRESSED}
    there, back = judge_witness([before] * trials, [after] * trials), judge_witness([after] * trials, [before] * trials)
    assert back.outcome is flipped.get(there.outcome, there.outcome)


def test_no_errors_among_few_requests_do_not_prove_that_there_are_none() -> None:
    """Zero errors in 6 x 100 requests are equivalent at one point of margin, in 6 x 10 they are not."""
    many = judge_rates([(0, 100)] * 6, [(0, 100)] * 6, one_look(6), margin=0.01)
    few = judge_rates([(0, 10)] * 6, [(0, 10)] * 6, one_look(6), margin=0.01)
    assert many.outcome is Outcome.EQUIVALENT
    assert few.outcome is Outcome.INCONCLUSIVE
    assert "possible" in few.reason


def test_a_rate_of_error_that_rises_is_regressed() -> None:
    """Ten points more errors in every block, by difference, since a ratio to zero says nothing."""
    worse = judge_rates([(0, 100)] * 8, [(8 + i % 4, 100) for i in range(8)], one_look(8), margin=0.01)
    assert worse.outcome is Outcome.REGRESSED
    better = judge_rates([(8 + i % 4, 100) for i in range(8)], [(0, 100)] * 8, one_look(8), margin=0.01)
    assert better.outcome is Outcome.IMPROVED


def test_a_trial_without_requests_has_no_rate() -> None:
    """Nothing asked, or more failed than asked, is the caller's mistake."""
    for trial in ((0, 0), (2, 1), (-1, 5)):
        with pytest.raises(ValueError, match="request"):
            judge_rates([trial] * 6, [(0, 1)] * 6, one_look(6), margin=0.01)
