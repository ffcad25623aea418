"""Values that fall into two groups with nothing between them: trials that ran at two speeds.

A machine, a GPU's clock or a graph that is captured or not may have two states. Then the mean of the trials is the speed of neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfproof.analysis.stats.samples import typical

LEAST, EACH = 5, 2
"""The fewest values, and the fewest in each group."""
APART = math.log(1.2)
"""The least gap between the groups, as a log ratio: a fifth."""
CLEAR = 2.0
"""The gap is at least so many times as wide as either group."""


def two_speeds(values: Sequence[float]) -> tuple[float, float] | None:
    """The typical values of the two groups, the lower first; None where there are not two, or a value is not positive.

    Source: none, a description: the widest gap of the sorted log values, beside the widths of what lies on its two sides.
    """
    if len(values) < LEAST or min(values) <= 0:
        return None
    logs = sorted(math.log(value) for value in values)
    gaps = {place: logs[place] - logs[place - 1] for place in range(EACH, len(logs) - EACH + 1)}
    place = max(gaps, key=lambda one: gaps[one])
    widest = max(logs[place - 1] - logs[0], logs[-1] - logs[place])
    if gaps[place] < APART or gaps[place] < CLEAR * widest:
        return None
    ordered = sorted(values)
    return float(typical(ordered[:place])), float(typical(ordered[place:]))
