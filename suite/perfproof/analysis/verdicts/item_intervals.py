"""Intervals of a paired difference of items, McNemar's test, and the detectable drop."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy

from perfproof.analysis.stats.samples import Floats
from perfproof.analysis.verdicts.paired_items import PairedItems

CHANGE_ERROR = 0.01
"""One-sided error of *regressed*, and of *improved*, over all tasks of a scenario."""
POWER = 0.8
FEW_CHANGED = 10
"""Fewer changed values say little about how large a change can be."""


def difference_interval(items: PairedItems, error: float) -> tuple[float, float]:
    """The interval of candidate minus baseline at one-sided `error`.

    For values of 0 and 1 Agresti and Min's, never narrower than Clopper and Pearson's for the items lost or won alone: no flips at all
    among 200 items leave a loss of 1.5 points possible. Else Student's; where fewer than ten items changed, never narrower than the
    former over the range of the values. Where items share a passage, the hull with the clustered one; one passage shows nothing.
    Source: Agresti & Min, Statistics in Medicine 24, 2005; Clopper & Pearson, Biometrika 26, 1934; Miller, arXiv 2411.00640, 2024;
    `scipy.special.betaincinv`, `stdtrit`.
    """
    difference = items.candidate - items.baseline
    n, centre = difference.size, float(difference.mean())
    lost, won = int((difference < 0).sum()), int((difference > 0).sum())
    if items.binary:
        low, high = _binary_interval(lost, won, n, error)
    else:
        half = float(scipy.special.stdtrit(n - 1, 1 - error)) * float(difference.std(ddof=1)) / math.sqrt(n)
        low, high = centre - half, centre + half
        if lost + won < FEW_CHANGED:
            few = _binary_interval(lost, won, n, error)
            low, high = min(low, _reach(items) * few[0]), max(high, _reach(items) * few[1])
    if items.clusters is not None:
        half = _clustered_half(difference, items.clusters, error)
        ends = (centre - half, centre + half) if math.isfinite(half) else (-_reach(items), _reach(items))
        low, high = min(low, ends[0]), max(high, ends[1])
    return low, high


def mcnemar_p(lost: int, won: int) -> float:
    """McNemar's exact two-sided p from the items that changed, 1 where none did.

    Source: McNemar, Psychometrika 12, 1947; `scipy.special.bdtr`.
    """
    return min(1.0, 2 * float(scipy.special.bdtr(min(lost, won), lost + won, 0.5)))


def detectable_drop(items: int, flip_rate: float, *, margin: float, error: float = CHANGE_ERROR) -> float:
    """The smallest true drop (a fraction) that would be called *regressed* with 80 % power.

    `flip_rate` is the share of items that change in either direction; it is at least the drop itself. 1 where no drop is detectable.
    Source: the normal approximation of the paired difference's variance (Connor, Biometrics 43, 1987), the rule's margin included.
    """
    drops = np.linspace(1 / (20 * items), 1.0, 20 * items) if items < 500 else np.linspace(1e-4, 1.0, 10_000)
    spread = np.sqrt(np.maximum(np.maximum(flip_rate, drops) - drops**2, 1e-12) / items)
    threshold = np.maximum(margin, normal(error) * spread)
    seen = drops - threshold >= normal(1 - POWER) * spread
    return float(drops[np.argmax(seen)]) if seen.any() else 1.0


def _binary_interval(lost: int, won: int, n: int, error: float) -> tuple[float, float]:
    """Agresti and Min's interval, never narrower than Clopper and Pearson's for few flips."""
    centre = (won - lost) / (n + 2)
    half = normal(error) * math.sqrt(lost + won + 1 - (won - lost) ** 2 / (n + 2)) / (n + 2)
    most_lost, most_won = (_most(count, n, error) for count in (lost, won))
    return min(centre - half, won / n - most_lost), max(centre + half, most_won - lost / n)


def _reach(items: PairedItems) -> float:
    """The largest possible change of an item: the range of all values."""
    return items.range[1] - items.range[0]


def _most(count: int, n: int, error: float) -> float:
    """The largest share of items that is compatible with this count."""
    return 1.0 if count == n else float(scipy.special.betaincinv(count + 1, n - count, 1 - error))


def _clustered_half(difference: Floats, clusters: Sequence[str], error: float) -> float:
    """Half the width of the interval in which items of one cluster may move together; infinite for a single cluster."""
    _, places = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.bincount(places, weights=difference - difference.mean())
    groups = sums.size
    if groups < 2:
        return math.inf
    spread = math.sqrt(groups / (groups - 1) * float((sums**2).sum())) / difference.size
    return float(scipy.special.stdtrit(groups - 1, 1 - error)) * spread


def normal(error: float) -> float:
    """The standard normal quantile that is exceeded with this probability. Source: `scipy.special.ndtri`."""
    return float(-scipy.special.ndtri(error))
