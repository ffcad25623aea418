"""One run per side has no error bars, so it gets no verdict, but the change that it could detect at a given scatter is known."""

from __future__ import annotations

import math
from statistics import NormalDist

_CHANGE = NormalDist().inv_cdf(0.99)
_POWER = NormalDist().inv_cdf(0.80)


def most_scatter(ratio: float) -> float:
    """The relative scatter (standard deviation) of runs of one build above which a ratio of two runs is within their noise.

    At the level of a single look, 98 % in both directions. Source: the normal law of the difference of two logarithms.
    """
    return math.expm1(abs(math.log(ratio)) / (math.sqrt(2) * _CHANGE))


def unseen(scatter: float) -> float:
    """The relative change that two runs with this scatter detect with 80 % power, at the same level.

    Source: the same law.
    """
    return math.expm1(math.sqrt(2) * (_CHANGE + _POWER) * math.log1p(scatter))
