"""How much one block moves an estimate: the change with every block against the change without the one that moves it most.

Nothing is thrown out for it and no verdict hangs on it. A mean over few blocks may owe much to one of them, and a reader of the estimate
is to know which, what it would be without, and which arm was the unusual one there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

FEWEST = 4
"""Blocks below which every one of them moves the mean a lot."""
SHARE = 0.2
"""Of half the interval's width: the shift of the mean from which a block is told. Over 6 blocks none can move it by more than 0.3."""
MARGINS = 2
"""And so many margins; less is told where it carries the estimate over the margin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """The block (its place, from 0) without which the estimate moves most, and the relative change of the candidate `without` it.

    `of_baseline` says that the baseline's value is the unusual one there, `larger` that it is larger than that arm's others.
    """

    place: int
    without: float
    of_baseline: bool
    larger: bool


def strongest(baseline: Sequence[float], candidate: Sequence[float], half: float, margin: float) -> Influence | None:
    """The most influential of the blocks, with values of both arms (> 0, one a block), if it moves the mean of the log ratios enough.

    `half` is half the width of the interval of that mean, `margin` the margin, both as logarithms. What is enough say `SHARE` and
    `MARGINS`. None for fewer than `FEWEST` blocks. Source: leaving one out (Quenouille, Biometrika 43, 1956).
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
    """How far a value lies from the middle of the others, as a logarithm of their ratio."""
    return math.log(values[place] / median(value for each, value in enumerate(values) if each != place))
