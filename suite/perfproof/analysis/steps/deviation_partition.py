"""The second detector: the partition into levels that fits best by absolute deviations, each level having its price."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from perfproof.analysis.stats.samples import Floats
from perfproof.analysis.steps.rank_scan import LEAST

PRICE = 1.0
"""Of a further level, in deviations of the noise times log n: about what the Bayesian criterion asks for with such errors."""
NEAR = 2
"""How many points apart two detectors may see the same step."""
REACH = 60
"""Points before and after a split that are partitioned."""


def costs(y: Floats) -> Floats:
    """The sum of absolute deviations from the median of every stretch [start, end): shape (n + 1, n + 1), 0 where there is none.

    Source: the cost l1 of Killick, Fearnhead & Eckley, JASA 107 (2012), and of `ruptures`.
    """
    n = y.size
    table = np.zeros((n + 1, n + 1))
    for length in range(1, n + 1):
        windows = sliding_window_view(y, length)
        deviations = np.abs(windows - np.median(windows, axis=1, keepdims=True)).sum(axis=1)
        table[np.arange(n - length + 1), np.arange(length, n + 1)] = deviations
    return table


def splits(y: Floats, scale: float) -> list[int]:
    """Where the best partition of a stretch, shape (n,), changes its level; `scale` is the deviation of the noise, above 0.

    Each level has at least `LEAST` points, and a price of `PRICE` log n deviations. `ruptures.Pelt` gives the same, but its import alone
    takes longer than an answer may take (a test compares the two).
    Source: optimal partitioning, Jackson et al., IEEE Signal Processing Letters 12 (2005).
    """
    n = y.size
    if n < 2 * LEAST:
        return []
    table, price = costs(y / scale), PRICE * math.log(n)
    best = np.full(n + 1, np.inf)  # of the first points, so many
    best[0] = -price
    last = np.zeros(n + 1, dtype=int)  # where the last level of that partition starts
    for end in range(LEAST, n + 1):
        totals = best[: end - LEAST + 1] + table[: end - LEAST + 1, end] + price
        last[end] = totals.argmin()
        best[end] = totals[last[end]]
    found = [int(last[n])]
    while found[-1]:
        found.append(int(last[found[-1]]))
    return found[-2::-1]


def agreed(y: Floats, split: int, scale: float) -> int | None:
    """The split nearest to `split` that the partition of what lies around it has within `NEAR` points; None where it has none.

    Source: none, bookkeeping.
    """
    start = max(0, split - REACH)
    near = [start + one for one in splits(y[start : split + REACH], scale) if abs(start + one - split) <= NEAR]
    return min(near, key=lambda one: abs(one - split)) if near else None
