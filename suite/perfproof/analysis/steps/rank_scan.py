"""The first detector: where ranks before and after differ most, over many long and short stretches of the series.

The Mann-Whitney statistic of every split of a stretch, standardised, and the split where it is largest (Pettitt 1979, a change of level
without an assumption on the distribution), over seeded intervals (Kovács, Bühlmann, Li, Munk 2023, "Seeded binary segmentation"), so
that a rise and a fall close to each other do not hide each other. It only proposes splits; `level_test` tests them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perfproof.analysis.stats.samples import Floats

LEAST = 4
"""Points that a level needs on each side of a step."""
LONGEST = 200
"""Points of the longest stretch: points further away say little about a step, and drift would look like one."""
PROPOSED = 2.3
"""The least standardised statistic of a proposal: what four points against four, fully separated, just reach. The test comes later."""


def proposals(y: Floats) -> list[int]:
    """Splits that may be steps, in order: index of the first point after. `y` has shape (n,).

    Source: Pettitt, Applied Statistics 28 (1979); Kovács et al., Biometrika 110 (2023), greedy selection.
    """
    found: list[tuple[float, int, int, int]] = []
    for start, end in stretches(y.size):
        statistic, split = _largest(y[start:end])
        if statistic >= PROPOSED:
            found.append((-statistic, start + split, start, end))
    chosen: list[int] = []
    for _, split, start, end in sorted(found):
        if not any(start < other < end for other in chosen) and all(abs(split - other) >= LEAST for other in chosen):
            chosen.append(split)
    return sorted(chosen)


def stretches(n: int) -> list[tuple[int, int]]:
    """Seeded intervals of a series of n points: lengths that shrink by the root of a half, each shifted by half its length.

    Source: Kovács et al. (2023), definition 1, but none longer than `LONGEST`.
    """
    made: dict[tuple[int, int], None] = {}
    length = float(min(n, LONGEST))
    while length >= 2 * LEAST:
        count = max(1, int(np.ceil(2 * n / length)) - 1)
        starts = np.linspace(0, n - length, count) if count > 1 else np.zeros(1)
        for start in starts:
            made[int(start), min(n, int(np.ceil(start + length)))] = None
        length /= np.sqrt(2)
    return list(made)


def ranks(y: Floats) -> Floats:
    """The rank of each value from 1 on, equal ones sharing the mean of theirs; shape (n,).

    Source: the midranks of `scipy.stats.rankdata`, whose import takes longer than an answer may take.
    """
    _, places, counts = np.unique(y, return_inverse=True, return_counts=True)
    shared: Floats = np.cumsum(counts) - (counts - 1) / 2
    return shared[places]


def _largest(y: Floats) -> tuple[float, int]:
    """The largest standardised rank statistic over all splits of a stretch, and its split."""
    n = y.size
    k: NDArray[np.int64] = np.arange(LEAST, n - LEAST + 1)
    if k.size == 0:
        return 0.0, 0
    sums = np.cumsum(ranks(y))[k - 1] - k * (n + 1) / 2
    statistic = np.abs(sums) / np.sqrt(k * (n - k) * (n + 1) / 12)
    best = int(statistic.argmax())
    return float(statistic[best]), int(k[best])
