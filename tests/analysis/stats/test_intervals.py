"""Estimates and intervals against textbook values and against their slow definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from perfproof.analysis.stats import intervals

X = np.random.default_rng(5).normal(0.01, 0.02, (4, 12))


def test_students_interval_is_scipys() -> None:
    """Mean, p and interval of every row are those of scipy.stats.ttest_1samp."""
    found = intervals.student(X)
    for row, x in enumerate(X):
        reference = stats.ttest_1samp(x, 0)
        ends = reference.confidence_interval(0.995)
        assert intervals.p_values(found)[row] == pytest.approx(reference.pvalue)
        assert found.mean[row] - found.half(0.995)[row] == pytest.approx(ends.low)
        assert found.mean[row] + found.half(0.995)[row] == pytest.approx(ends.high)


def test_values_without_spread_give_a_point_and_no_nan() -> None:
    """Equal values have deviation 0, an interval of no width, and p 1 (no change) or 0 (a change)."""
    x = np.array([[0.0] * 6, [0.1] * 6])
    found = intervals.student(x)
    assert intervals.p_values(found).tolist() == [1, 0]
    assert found.half(0.99).tolist() == [0, 0]


@pytest.mark.parametrize(("n", "depth"), [(5, 0), (6, 1), (7, 3), (8, 4), (9, 6), (10, 9), (12, 14), (16, 30), (20, 53), (24, 82)])
def test_the_signed_rank_interval_leaves_out_as_many_averages_as_the_tables_say(n: int, depth: int) -> None:
    """The critical values of the exact two-sided test at .05 (Hollander & Wolfe, table A.4), plus one; below 6 there is none."""
    assert intervals.signed_rank_depth(n, 0.95) == depth


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_signed_rank_interval_of_any_size_is_that_of_scipys_test(level: float) -> None:
    """With as many averages below the shift as are left out, `scipy.stats.wilcoxon` rejects; with one more it accepts."""
    for n in (2, 5, 13, 37, 50, 51, 100):
        values = np.cumsum(np.arange(1.0, n + 1) ** 2 + np.sqrt(np.arange(1.0, n + 1)))
        averages = np.sort([(values[i] + values[j]) / 2 for i in range(n) for j in range(i, n)])
        edges = np.concatenate([[averages[0] - 1], (averages[1:] + averages[:-1]) / 2])
        method = "exact" if n <= 50 else "asymptotic"
        depth = intervals.signed_rank_depth(n, level)
        assert stats.wilcoxon(values - edges[depth], method=method).pvalue > 1 - level
        assert not depth or stats.wilcoxon(values - edges[depth - 1], method=method).pvalue <= 1 - level


def test_the_signed_rank_interval_holds_just_the_shifts_that_the_test_accepts() -> None:
    """Just inside an end scipy.stats.wilcoxon accepts the shift, just outside it rejects it."""
    robust = intervals.companion(X)
    for row, x in enumerate(X):
        for end, inwards in ((robust.low[row], 1e-9), (robust.high[row], -1e-9)):
            assert stats.wilcoxon(x - (end + inwards), method="exact").pvalue > 0.05
            assert stats.wilcoxon(x - (end - inwards), method="exact").pvalue <= 0.05


def test_the_pseudo_median_is_the_median_of_all_pairwise_means() -> None:
    """By its definition, and it stays where it is when one value runs away."""
    x = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    assert intervals.companion(x).middle[0] == 3.5
    away = x.copy()
    away[0, 5] = 1000
    assert intervals.companion(away).middle[0] < 4.1


def test_the_companion_of_very_many_blocks_takes_evenly_spaced_ones() -> None:
    """Thousands of blocks are answered in bounded memory, near the mean where the noise is symmetric."""
    x = np.random.default_rng(1).normal(0.03, 0.02, (2, 50_000))
    robust = intervals.companion(x)
    assert np.all((robust.low < 0.03) & (robust.high > 0.03) & (robust.high - robust.low < 0.01))
