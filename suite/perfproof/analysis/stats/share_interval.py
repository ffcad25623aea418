"""The share that one change has in another: the ratio of two independent means, with Fieller's interval.

A share of 0.25 with [0.1, 0.4] is a quarter of the whole change, and between 10 and 40 per cent of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from perfproof.analysis.stats.intervals import student
from perfproof.analysis.stats.samples import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of a whole change, with its interval; `blocks` are those of the part. The ends are infinite where the whole change is not
    told from none."""

    value: float
    low: float
    high: float
    blocks: int


def share(part: Floats, whole: Floats, level: float) -> Share:
    """The mean of `part`, shape (n,), as a share of the mean of `whole`, shape (m,), with its interval of this two-sided level.

    Raises ValueError below 2 of either, and where the mean of the whole is 0.
    Source: Fieller, JRSS B 16, 1954; the degrees of freedom of two unequal variances: Welch, Biometrika 34, 1947.
    """
    if min(part.size, whole.size) < 2:
        raise ValueError(f"a share needs 2 values of each, not {part.size} and {whole.size}")
    own, all_ = student(part[None, :]), student(whole[None, :])
    top, bottom = float(own.mean[0]), float(all_.mean[0])
    if bottom == 0:
        raise ValueError("there is no whole change to have a share in")
    a, b, value = float(own.sd[0]) ** 2 / own.n, float(all_.sd[0]) ** 2 / all_.n, top / bottom
    squared = float(special.stdtrit(_freedom(a, own.n, value**2 * b, all_.n), (1 + level) / 2)) ** 2
    rest = bottom**2 - squared * b
    if rest <= 0:
        return Share(value=value, low=-math.inf, high=math.inf, blocks=own.n)
    centre, half = top * bottom / rest, math.sqrt(max(0.0, (top * bottom) ** 2 - rest * (top**2 - squared * a))) / rest
    return Share(value=value, low=centre - half, high=centre + half, blocks=own.n)


def _freedom(a: float, n: int, b: float, m: int) -> float:
    """The degrees of freedom of the sum of two variances of means."""
    weight = a**2 / (n - 1) + b**2 / (m - 1)
    return (a + b) ** 2 / weight if weight else float(min(n, m) - 1)


def settled(found: Share, least: float) -> float | None:
    """The share as far as it has to be known: 0 or 1 where the whole interval is nearer than `least` to it; else the estimate, where the
    interval is no wider than `least`; None where neither is so yet.

    Source: none, this project's rule; `tests/changes/blame/test_timed_search.py` simulates it.
    """
    for end in (0.0, 1.0):
        if end - least < found.low and found.high < end + least:
            return end
    return found.value if found.high - found.low <= least else None
