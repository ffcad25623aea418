"""How a cost grows with a size: the exponent of the power law, as the slope of log(cost) against log(size), one slope a trial.

The slope is fitted within each trial (least squares), so that a trial that is slow as a whole moves the line and not its slope; the
trials' slopes then get Student's interval, the trial being the unit of replication as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from suite.analysis import intervals
from suite.analysis.samples import Floats

LEVEL = 0.95
TOLERANCE = 0.15
"""How far from 0 or 1 the whole interval may reach and still be called constant or linear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The exponent with its 95 % interval over trials, the factor in cost from the smallest size to the largest, and words."""

    exponent: float
    interval: tuple[float, float]
    trials: int
    smallest: float
    largest: float
    factor: float
    words: str


def growth(sizes: ArrayLike, costs: ArrayLike, *, of: str = "the cost", size: str = "size") -> Growth:
    """How `costs`, shape (trials, sizes), grow with `sizes`, shape (sizes,); both positive, at least two trials and two sizes.

    `of` and `size` name them in the words. Raises ValueError on other shapes or values without a logarithm.
    Source: least squares on logarithms; `numpy.polyfit`, then Student's interval.
    """
    at, cost = np.asarray(sizes, dtype=float), np.asarray(costs, dtype=float)
    if at.ndim != 1 or cost.ndim != 2 or cost.shape[1] != at.size or cost.shape[0] < 2 or np.unique(at).size < 2:
        raise ValueError(f"growth needs costs of at least 2 trials at each of at least 2 sizes, not shapes {cost.shape} and {at.shape}")
    if not (np.isfinite(cost).all() and (cost > 0).all() and (at > 0).all()):
        raise ValueError("sizes and costs must be positive numbers")
    slopes = np.polyfit(np.log(at), np.log(cost).T, 1)[0]
    found = intervals.student(slopes[None, :])
    exponent, half = float(found.mean[0]), float(found.half(LEVEL)[0])
    small, large = int(at.argmin()), int(at.argmax())
    factor = float(np.exp(np.mean(np.log(cost[:, large]) - np.log(cost[:, small]))))
    interval = (exponent - half, exponent + half)
    told = f"{of} {_shape(interval, size)} (exponent {exponent:.2f}, {interval[0]:.2f} to {interval[1]:.2f} at 95 %)"
    return Growth(
        exponent=exponent,
        interval=interval,
        trials=cost.shape[0],
        smallest=float(at[small]),
        largest=float(at[large]),
        factor=factor,
        words=f"{told}: {factor:.3g} times from {size} {at[small]:g} to {at[large]:g}",
    )


def _shape(interval: tuple[float, float], size: str) -> str:
    low, high = interval
    if low > -TOLERANCE and high < TOLERANCE:
        return f"is constant in {size}"
    if low > 1 - TOLERANCE and high < 1 + TOLERANCE:
        return f"is linear in {size}"
    if low >= 1:
        return f"grows faster than linear in {size}"
    if low > 0:
        return f"grows with {size}, but less than linearly" if high < 1 else f"grows with {size}, about linearly"
    if high < 0:
        return f"falls with {size}"
    return f"has no clear growth with {size} in so few trials"


def slope_difference(sizes: ArrayLike, baseline: Floats, candidate: Floats) -> tuple[float, tuple[float, float]]:
    """Candidate's exponent minus the baseline's with its 95 % interval; trials (rows) of the two are paired by block.

    Source: the same, paired by block.
    """
    at = np.log(np.asarray(sizes, dtype=float))
    slopes = np.polyfit(at, np.log(candidate).T, 1)[0] - np.polyfit(at, np.log(baseline).T, 1)[0]
    found = intervals.student(slopes[None, :])
    mean, half = float(found.mean[0]), float(found.half(LEVEL)[0])
    return mean, (mean - half, mean + half)
