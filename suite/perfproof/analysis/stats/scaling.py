"""How a cost grows with a size: for a time as the exponent of a power law with its interval, for a count exactly.

For a time the exponent is the slope of log(cost) against log(size), fitted within each trial (least squares), so that a slow trial moves
the line and not its slope. The trials' slopes then get Student's interval, because the trial is the unit of replication. A count has no
noise: where it is a constant plus a rate times the size, the words say exactly that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from perfproof.analysis.stats import intervals
from perfproof.analysis.stats.samples import Floats

LEVEL = 0.95
TOLERANCE = 0.15
"""How far from 0 or 1 the whole interval may reach to be called constant or linear."""
ROUNDING = 1e-9
"""The largest relative distance of an exact count from a straight line: the rounding of its division."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How one arm's cost grows: the exponent, the factor from the smallest size to the largest, and words.

    `interval` and `factor_interval` are at 95 % over trials, None for a count, which is exact; `shape` is the short form of `words`
    ("constant in output length").
    """

    exponent: float
    interval: tuple[float, float] | None
    factor: float
    factor_interval: tuple[float, float] | None
    trials: int
    shape: str
    words: str


def growth(sizes: ArrayLike, costs: ArrayLike, *, of: str = "the cost", size: str = "size") -> Growth:
    """How `costs`, shape (trials, sizes), grow with `sizes`, shape (sizes,); both positive, at least two trials and two sizes.

    `of` and `size` name them in the words. Raises ValueError on other shapes or values without a logarithm.
    Source: least squares on logarithms; `numpy.polyfit`, then Student's interval.
    """
    at, cost = _checked(sizes, costs)
    exponent, interval = _student(np.polyfit(np.log(at), np.log(cost).T, 1)[0])
    small, large = int(at.argmin()), int(at.argmax())
    step, (low, high) = _student(np.log(cost[:, large]) - np.log(cost[:, small]))
    factor, around = math.exp(step), (math.exp(low), math.exp(high))
    shape = _shape(interval, size)
    law = f"{of} is {shape} (exponent {exponent:.2f}, {interval[0]:.2f} to {interval[1]:.2f} at 95 %)"
    return Growth(
        exponent=exponent,
        interval=interval,
        factor=factor,
        factor_interval=around,
        trials=cost.shape[0],
        shape=shape,
        words=f"{law}: {factor:.3g} times from {size} {at[small]:g} to {at[large]:g}, {around[0]:.3g} to {around[1]:.3g}",
    )


def counted_growth(sizes: Sequence[float], counts: Sequence[float], *, of: str = "the count", size: str = "size") -> Growth:
    """How an exact count, one value a size, grows with at least two different sizes, all positive; counts may be 0.

    A constant, or a straight line through three or more sizes, is described exactly; anything else by its fitted exponent.
    Raises ValueError on other shapes or values. Source: none, arithmetic on exact counts.
    """
    at, count = np.asarray(sizes, dtype=float), np.asarray(counts, dtype=float)
    fits = at.ndim == 1 and at.shape == count.shape and np.unique(at).size > 1
    if not fits or not ((at > 0) & np.isfinite(count) & (count >= 0)).all():
        raise ValueError(
            f"growth of a count needs one, 0 or more, at each of at least 2 positive sizes, not {list(counts)} at {list(sizes)}"
        )
    small, large = int(at.argmin()), int(at.argmax())
    factor = float(count[large] / count[small]) if count[small] else math.inf if count[large] else 1.0
    exponent = float(np.polyfit(np.log(at), np.log(count), 1)[0]) if (count > 0).all() else math.nan if count.any() else 0.0
    shape, law = _law(at, count, size)
    return Growth(
        exponent=exponent,
        interval=None,
        factor=factor,
        factor_interval=None,
        trials=0,
        shape=shape,
        words=f"{of} is {shape}, exactly: {law}",
    )


def _checked(sizes: ArrayLike, costs: ArrayLike) -> tuple[Floats, Floats]:
    at, cost = np.asarray(sizes, dtype=float), np.asarray(costs, dtype=float)
    if at.ndim != 1 or cost.ndim != 2 or cost.shape[1] != at.size or cost.shape[0] < 2 or np.unique(at).size < 2:
        raise ValueError(f"growth needs costs of at least 2 trials at each of at least 2 sizes, not shapes {cost.shape} and {at.shape}")
    if not (np.isfinite(cost).all() and (cost > 0).all() and (at > 0).all()):
        raise ValueError("sizes and costs must be positive numbers")
    return at, cost


def _student(values: Floats) -> tuple[float, tuple[float, float]]:
    """Mean and 95 % interval of one value a trial."""
    found = intervals.student(values[None, :])
    mean, half = float(found.mean[0]), float(found.half(LEVEL)[0])
    return mean, (mean - half, mean + half)


def _shape(interval: tuple[float, float], size: str) -> str:
    low, high = interval
    if low > -TOLERANCE and high < TOLERANCE:
        return f"constant in {size}"
    if low > 1 - TOLERANCE and high < 1 + TOLERANCE:
        return f"linear in {size}"
    if low >= 1:
        return f"growing faster than linear in {size}"
    if low > 0:
        return f"growing less than linearly with {size}" if high < 1 else f"growing about linearly with {size}"
    if high < 0:
        return f"falling with {size}"
    return f"without clear growth with {size} in so few trials"


def _law(at: Floats, count: Floats, size: str) -> tuple[str, str]:
    """An exact count's shape, and the law that it follows."""
    if np.ptp(count) == 0:
        return f"constant in {size}", f"{count[0]:,.10g} at every size"
    slope, start = np.polyfit(at, count, 1)
    straight = np.allclose(count, start + slope * at, rtol=ROUNDING, atol=ROUNDING * float(count.max()))
    if straight and np.unique(at).size > 2:
        start = 0.0 if abs(start) <= 1e-6 * float(count.max()) else float(start)
        begin = f"{round(start, 6):,.10g} + " if start else ""
        return f"{'linear' if slope > 0 else 'falling'} in {size}", f"{begin}{round(float(slope), 6):,.10g} × {size}"
    ends = f"{count[int(at.argmin())]:,.10g} at {at.min():,g}, {count[int(at.argmax())]:,.10g} at {at.max():,g}"
    return f"{'growing' if slope > 0 else 'falling'} with {size}", ends


def slope_difference(sizes: ArrayLike, baseline: Floats, candidate: Floats) -> tuple[float, tuple[float, float]]:
    """Candidate's exponent minus the baseline's with its 95 % interval; trials (rows) of the two are paired by block.

    Source: the same, paired by block.
    """
    at = np.log(np.asarray(sizes, dtype=float))
    return _student(np.polyfit(at, np.log(candidate).T, 1)[0] - np.polyfit(at, np.log(baseline).T, 1)[0])
