"""Interval estimates over arrays: every function takes x of shape (m, n), m metrics (or simulated runs) of n blocks each.

Student's t is `scipy.stats.ttest_1samp`. The robust companion is the Hodges-Lehmann pseudo-median, the median of the Walsh averages
(x_i + x_j)/2, with the interval that inverts the exact signed-rank test (Hodges & Lehmann, Annals of Mathematical Statistics 34, 1963;
Hollander & Wolfe, Nonparametric Statistical Methods, 3.2 to 3.3). Bootstrap intervals are not used: at 5 to 12 blocks they cover
83 to 92 % where they claim 95 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy import special, stats

from suite.analysis.samples import Floats

COMPANION_MOST = 400
"""Walsh averages grow with the square of the blocks; beyond this many, as many evenly spaced blocks stand for all."""
ROUNDING = 1e-12
"""A spread of log ratios that is rounding, not noise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Student:
    """Mean, standard deviation and two-sided p of m metrics over n blocks; all arrays have shape (m,)."""

    n: int
    mean: Floats
    sd: Floats
    p: Floats

    def half(self, level: float, widening: float = 1.0) -> Floats:
        """Half the width of the interval of this two-sided level, times `widening`."""
        half: Floats = quantile(self.n, level) * widening * self.sd / np.sqrt(self.n)
        return half


@lru_cache(maxsize=4096)
def quantile(n: int, level: float) -> float:
    """Student's t quantile of a two-sided interval of this level over n blocks."""
    return float(special.stdtrit(n - 1, (1 + level) / 2))


def student(x: Floats) -> Student:
    """Mean, deviation (n - 1) and p of the hypothesis of no change, by `scipy.stats.ttest_1samp`; n must be 2 or more.

    Without spread (all values the same, to rounding) p is 1 where the mean is 0 and else 0.
    """
    mean, sd = x.mean(axis=1), x.std(axis=1, ddof=1)
    flat = np.ptp(x, axis=1) <= ROUNDING
    mean, sd = np.where(flat, x[:, 0], mean), np.where(flat, 0.0, sd)
    p = np.where(np.abs(mean) <= ROUNDING, 1.0, 0.0)
    if not flat.all():
        p[~flat] = stats.ttest_1samp(x[~flat], 0.0, axis=1).pvalue
    return Student(n=x.shape[1], mean=mean, sd=sd, p=p)


def pseudo_median(x: Floats) -> Floats:
    """The Hodges-Lehmann estimate of each row, shape (m,)."""
    return np.median(_walsh(x), axis=1)


def signed_rank(x: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Low and high ends, shape (m,) each, of the exact signed-rank interval; infinite where n is too small to have one (below 6)."""
    averages = _walsh(x)
    depth = signed_rank_depth(min(x.shape[1], COMPANION_MOST), level)
    if depth == 0:
        endless = np.full(x.shape[0], np.inf)
        return -endless, endless
    last = averages.shape[1] - depth
    parted = np.partition(averages, [depth - 1, last], axis=1)
    return parted[:, depth - 1], parted[:, last]


@lru_cache(maxsize=1024)
def signed_rank_depth(n: int, level: float) -> int:
    """How many Walsh averages the interval leaves out on each side, plus one; 0 where even the outermost is not enough.

    Found by shifting distinct values until `scipy.stats.wilcoxon` (exact up to 50 blocks) no longer rejects: the interval is the
    set of shifts that the test accepts, and the number of Walsh averages below a shift is the test's own statistic.
    """
    values = np.cumsum(np.arange(1.0, n + 1) ** 2 + np.sqrt(np.arange(1.0, n + 1)))
    averages = np.sort(_walsh(values[None, :])[0])
    method: Literal["exact", "approx"] = "exact" if n <= 50 else "approx"
    low, high = 0, averages.size // 2
    while low < high:
        middle = (low + high) // 2
        shift = averages[0] - 1 if middle == 0 else (averages[middle - 1] + averages[middle]) / 2
        shifted = np.asarray(values - shift, dtype=np.float64)
        if stats.wilcoxon(shifted, method=method).pvalue <= 1 - level:
            low = middle + 1
        else:
            high = middle
    return low


def studentised(x: Floats) -> Floats:
    """Externally studentised residuals from the mean, shape (m, n) (Cook & Weisberg, Residuals and Influence in Regression, 2.2.1).

    The deviation is that of the other blocks alone, so that an outlier does not hide itself.
    """
    n = x.shape[1]
    if n < 3:
        return np.zeros_like(x)
    rest = x - x.mean(axis=1, keepdims=True)
    kept = 1 - 1 / n
    others = ((rest**2).sum(axis=1, keepdims=True) - rest**2 / kept) / (n - 2)
    scale = np.sqrt(np.maximum(others, 0) * kept)
    tiny = np.abs(rest) <= 1e-12 * np.maximum(np.abs(x).max(axis=1, keepdims=True), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(tiny, 0.0, rest / scale)


def _walsh(x: Floats) -> Floats:
    """All (x_i + x_j)/2 with i <= j of each row, unsorted, shape (m, n(n+1)/2)."""
    if x.shape[1] > COMPANION_MOST:
        x = x[:, np.linspace(0, x.shape[1] - 1, COMPANION_MOST).round().astype(int)]
    left, right = np.triu_indices(x.shape[1])
    walsh: Floats = (x[:, left] + x[:, right]) / 2
    return walsh
