"""The slope of a cost over a known input, from blocks that hold every input once: what one more unit of input costs.

Within a block the slope is Theil and Sen's: the median of the slopes of all pairs of its points, each weighted with how far its inputs are
apart (Sievers, JASA 73, 1978). One odd trial moves it little, and what a block shares cancels. Over the blocks stands Student's interval of
their slopes, as for every paired metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfproof.analysis.stats import intervals
from perfproof.analysis.stats.samples import Floats

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """Output per unit of input, with its interval at `LEVEL`, from so many blocks."""

    value: float
    low: float
    high: float
    blocks: int


def paired_slope(x: Floats, y: Floats) -> Slope:
    """The slope of y over x; both have shape (blocks, inputs), each block's points in any order.

    Raises ValueError for fewer than two blocks or two inputs, and for a block whose inputs are all equal.
    Source: Theil, Indagationes Mathematicae 12, 1950; Sen, JASA 63, 1968; Student, Biometrika 6, 1908.
    """
    if x.shape != y.shape or x.ndim != 2 or min(x.shape) < 2:
        raise ValueError(f"expected two or more blocks of two or more points, got the shapes {x.shape} and {y.shape}")
    slopes = np.array([block_slope(inputs, outputs) for inputs, outputs in zip(x, y, strict=True)])
    found = intervals.student(slopes[None, :])
    half = float(found.half(LEVEL)[0])
    value = float(found.mean[0])
    return Slope(value=value, low=value - half, high=value + half, blocks=len(slopes))


def block_slope(x: Floats, y: Floats) -> float:
    """The weighted median of the slopes of all pairs of points with different x. Raises ValueError where there is none.

    Source: Theil, Indagationes Mathematicae 12, 1950; Sievers, JASA 73, 1978.
    """
    one, other = np.triu_indices(len(x), 1)
    apart = x[other] - x[one]
    kept = apart != 0
    if not kept.any():
        raise ValueError("all inputs of a block are equal: there is no slope")
    return weighted_median(((y[other] - y[one])[kept] / apart[kept]).tolist(), np.abs(apart[kept]).tolist())


def weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    """The value that half of the weight lies on either side of; midway where two do.

    Source: Edgeworth, Hermathena 6, 1887.
    """
    order = sorted(range(len(values)), key=lambda place: values[place])
    half, passed = sum(weights) / 2, 0.0
    for number, place in enumerate(order):
        passed += weights[place]
        if np.isclose(passed, half, rtol=1e-12) and number + 1 < len(order):
            return (values[place] + values[order[number + 1]]) / 2
        if passed > half:
            return values[place]
    return values[order[-1]]
