"""How sensitive an estimate is to one block: the change with every block, and the change without the block that moves it most.

No block is excluded for it and no verdict depends on it. A mean over few blocks may depend much on one of them, so the reader learns which
one, the estimate without it, and which arm was unusual there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

FEWEST = 4
"""With fewer blocks, each of them moves the mean a lot."""
SHARE = 0.2
"""The least shift of the mean that is reported, as a share of half the interval's width. Over 6 blocks none can exceed 0.3."""
MARGINS = 2
"""The least shift in margins; a smaller one is reported if it moves the estimate across the margin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """The block (its place, from 0) without which the estimate moves most, and the relative change of the candidate `without` it.

    `of_baseline` says that the baseline's value is unusual there, `larger` that it is larger than that arm's other values.
    """

    place: int
    without: float
    of_baseline: bool
    larger: bool


def strongest(baseline: Sequence[float], candidate: Sequence[float], half: float, margin: float) -> Influence | None:
    """The most influential of the blocks, with values of both arms (> 0, one a block), if it moves the mean of the log ratios enough.

    `half` is half the width of the interval of that mean, `margin` the margin, both as logarithms. `SHARE` and `MARGINS` say what is
    enough. None for fewer than `FEWEST` blocks. Source: leaving one out (Quenouille, Biometrika 43, 1956).
    """
    if len(baseline) < FEWEST or min(*baseline, *candidate) <= 0:
        return None
    ratios = [math.log(after / before) for before, after in zip(baseline, candidate, strict=True)]
    mean = fmean(ratios)
    place = max(range(len(ratios)), key=lambda each: abs(ratios[each] - mean))
    without = fmean(ratio for each, ratio in enumerate(ratios) if each != place)
    shift, over = abs(without - mean), (abs(mean) >= margin) != (abs(without) >= margin)
    if shift < SHARE * half or (shift < MARGINS * margin and not over):
        return None
    before, after = (_apart(arm, place) for arm in (baseline, candidate))
    of_baseline = abs(before) >= abs(after)
    return Influence(place=place, without=math.expm1(without), of_baseline=of_baseline, larger=(before if of_baseline else after) > 0)


def _apart(values: Sequence[float], place: int) -> float:
    """The distance of a value from the median of the others, as the logarithm of their ratio."""
    return math.log(values[place] / median(value for each, value in enumerate(values) if each != place))
