"""The second detector: the partition into levels that fits best by absolute deviations, with a price per level (ruptures' Pelt)."""

from __future__ import annotations

import math

import numpy as np
import ruptures
from numpy.lib.stride_tricks import sliding_window_view
from ruptures.base import BaseCost

from perfproof.analysis.stats.samples import Floats
from perfproof.analysis.steps.rank_scan import LEAST

PRICE = 1.0
"""Of a further level, in deviations of the noise times log n: about what the Bayesian criterion asks for with such errors."""
NEAR = 2
"""How many points apart two detectors may see the same step."""
REACH = 60
"""Points before and after a split that are partitioned."""


class AbsoluteDeviations(BaseCost):  # type: ignore[misc]
    """The cost l1 of ruptures, the sum of absolute deviations from the median, of all stretches at once: a look-up instead of a sort."""

    model = "l1 by table"
    min_size = LEAST

    def fit(self, signal: Floats) -> AbsoluteDeviations:
        """Fills the table; `signal` has shape (n,)."""
        self.signal = signal.reshape(-1, 1)
        n = signal.size
        self.table = np.zeros((n + 1, n + 1))
        for length in range(1, n + 1):
            windows = sliding_window_view(signal, length)
            deviations = np.abs(windows - np.median(windows, axis=1, keepdims=True)).sum(axis=1)
            self.table[np.arange(n - length + 1), np.arange(length, n + 1)] = deviations
        return self

    def error(self, start: int, end: int) -> float:
        """The cost of the stretch [start, end)."""
        return float(self.table[start, end])


def splits(y: Floats, scale: float) -> list[int]:
    """Where the best partition of a stretch, shape (n,), changes its level; `scale` is the deviation of the noise, above 0.

    Source: ruptures.Pelt (Killick, Fearnhead, Eckley 2012) on l1 with a price of `PRICE` log n deviations.
    """
    if y.size < 2 * LEAST:
        return []
    found = ruptures.Pelt(custom_cost=AbsoluteDeviations(), min_size=LEAST, jump=1).fit(y / scale)
    return [int(split) for split in found.predict(pen=PRICE * math.log(y.size))[:-1]]


def agreed(y: Floats, split: int, scale: float) -> int | None:
    """The split nearest to `split` that the partition of what lies around it has within `NEAR` points; None where it has none.

    Source: none, bookkeeping.
    """
    start = max(0, split - REACH)
    near = [start + one for one in splits(y[start : split + REACH], scale) if abs(start + one - split) <= NEAR]
    return min(near, key=lambda one: abs(one - split)) if near else None
