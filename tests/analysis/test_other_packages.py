"""Our statistics beside those of other people's packages: the same numbers for whatever data.

statsmodels is imported by the tests that need it: that takes seconds of a core, and every process that collects tests reads every file.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import ruptures
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perfproof.analysis.stats import intervals
from perfproof.analysis.steps.deviation_partition import LEAST, PRICE, splits
from perfproof.analysis.verdicts.calibration import autocorrelation
from perfproof.analysis.verdicts.error_rates import newcombe
from perfproof.analysis.verdicts.item_intervals import mcnemar_p
from perfproof.validation.simulated.step_detectors import AbsoluteDeviations

X = np.random.default_rng(5).normal(0.01, 0.02, (4, 12))
SEEDS = st.integers(0, 2**32 - 1)
COUNTS = st.integers(1, 5000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


def test_studentised_residuals_are_those_of_statsmodels() -> None:
    """External studentisation agrees with OLSInfluence of a model with a constant alone."""
    from statsmodels.regression.linear_model import OLS

    for x, found in zip(X, intervals.studentised(X), strict=True):
        reference = OLS(x, np.ones(x.size)).fit().get_influence().resid_studentized_external
        assert found == pytest.approx(reference)


@settings(deadline=None)
@given(lost=st.integers(0, 2000), won=st.integers(1, 2000))
def test_mcnemar_agrees_with_statsmodels(lost: int, won: int) -> None:
    """The same p from other people's code, for any number of items that changed."""
    from statsmodels.stats.contingency_tables import mcnemar

    assert mcnemar_p(lost, won) == pytest.approx(float(mcnemar([[0, lost], [won, 0]], exact=True).pvalue), rel=1e-9)


@settings(deadline=None)
@given(COUNTS, COUNTS, st.sampled_from([0.005, 0.02, 0.05]))
def test_the_interval_of_two_shares_is_that_of_statsmodels(one: tuple[int, int], other: tuple[int, int], error: float) -> None:
    """Newcombe's interval agrees with `confint_proportions_2indep`, at the ends of the range too."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    expected = confint_proportions_2indep(*one, *other, method="newcomb", compare="diff", alpha=error)
    assert newcombe(*one, *other, error) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(x=arrays(float, st.integers(60, 200), elements=st.floats(-1, 1, width=32)))
def test_autocorrelation_agrees_with_statsmodels(x: np.ndarray) -> None:
    """The same p of Ljung and Box's test from other people's code; blocks that do not scatter are not autocorrelated."""
    from statsmodels.stats.diagnostic import acorr_ljungbox

    theirs = float(acorr_ljungbox(x, lags=[1])["lb_pvalue"].iloc[0]) if np.ptp(x) > 0 else 1.0
    assert autocorrelation(x).p == pytest.approx(theirs, rel=1e-6, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(2 * LEAST, 60), st.integers(0, 3))
def test_the_partition_is_the_one_of_ruptures(seed: int, n: int, steps: int) -> None:
    """`ruptures.Pelt` on the same cost and price finds the same levels; where its pruning misses the best, ours costs less."""
    source = np.random.default_rng(seed)
    y = source.standard_normal(n)
    for place in source.integers(0, n, steps):
        y[place:] += source.normal(0, 4)
    theirs = ruptures.Pelt(custom_cost=AbsoluteDeviations(), min_size=LEAST, jump=1).fit(y).predict(pen=PRICE * np.log(n))[:-1]
    assert splits(y, 1.0) == theirs or _price(y, splits(y, 1.0)) < _price(y, theirs)


def _price(y: np.ndarray, found: list[int]) -> float:
    bounds = [0, *found, y.size]
    parts = [y[start:end] for start, end in pairwise(bounds)]
    return sum(float(np.abs(part - np.median(part)).sum()) for part in parts) + PRICE * np.log(y.size) * len(found)
