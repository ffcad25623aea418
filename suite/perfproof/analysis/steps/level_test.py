"""The test: does a step at this split explain the points better than autocorrelated noise around one level does?

Both models have first-order noise, y(t) - level = rho (y(t-1) - level) + error, and are fitted by exact likelihood over a grid of rho: once
with one level, once with a level on each side. Twice the difference of the log likelihoods is compared with what its maximum over all
splits exceeds by chance. Autocorrelation explains a series that merely wanders, which raises no alarm; a test that takes the points as
independent can't do that. Outliers are first drawn in to a few deviations from their level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from perfproof.analysis.stats.samples import Floats
from perfproof.analysis.steps.rank_scan import LEAST

RHO = np.concatenate([np.arange(0.0, 0.9, 0.05), [0.9, 0.93, 0.96, 0.98, 0.99]])
SHORT, WANDERING = 3.0, 34.0
"""The points by which `chance` shortens a stretch, fixed and per unit of autocorrelation."""
WORTH = 0.4
"""The least weight of evidence, so that a clear step in a short stretch stays one."""
DRAWN_IN = 3.0
"""Deviations from its level to which an outlier is drawn in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Two levels fitted to a stretch: `shift` between them with its standard error and degrees of freedom, in units of y.

    `ratio` is twice the logarithm of how much likelier two levels are than one; `chance` is how likely quiet, autocorrelated noise of
    this length shows a split as good anywhere; `sd` the noise's deviation.
    """

    shift: float
    error: float
    freedom: int
    rho: float
    sd: float
    ratio: float
    chance: float

    def interval(self, level: float) -> tuple[float, float]:
        """The shift's bounds at this confidence."""
        half = float(scipy.special.stdtrit(self.freedom, (1 + level) / 2)) * self.error
        return self.shift - half, self.shift + half


def two_levels(y: Floats, split: int) -> Levels:
    """Fits a step at `split` to a stretch, shape (n,), with at least `LEAST` points a side.

    Source: likelihood of a first-order autoregression (Prais-Winsten over a grid); Andrews, Econometrica 61 (1993), for the maximum over
    unknown splits, by the approximation of DeLong (1981).
    """
    n = y.size
    drawn, sd = draw_in(y, split)
    after = (np.arange(n) >= split).astype(float)
    first = np.sqrt(1 - RHO**2)
    white_y, white_after, white_one = (_whitened(column, first) for column in (drawn, after, np.ones(n)))
    none, one, shift, error = _fits(white_y, white_after, white_one, n)
    tiny = n * (1e-9 * (1 + float(np.abs(drawn).max()))) ** 2
    likely_none = -n * np.log(none + tiny) + np.log(1 - RHO**2)
    likely_one = -n * np.log(one + tiny) + np.log(1 - RHO**2)
    best = int(likely_one.argmax())
    ratio = float(likely_one[best] - likely_none.max())
    return Levels(
        shift=float(shift[best]),
        error=float(error[best]),
        freedom=n - 3,
        rho=float(RHO[best]),
        sd=sd,
        ratio=ratio,
        chance=chance(ratio, n, float(RHO[best])),
    )


def draw_in(y: Floats, split: int) -> tuple[Floats, float]:
    """The stretch with its outliers drawn in to their side's median, and the deviation of the noise around the medians.

    A side that scatters more than the whole is measured by its own scatter: half of its points are no outliers.
    Source: winsorising; the median absolute deviation of a normal distribution.
    """
    sides = [y[:split], y[split:]]
    rests = [side - np.median(side) for side in sides]
    sd = _scatter(np.concatenate(rests))
    drawn = [side - rest + np.clip(rest, -most, most) for side, rest in zip(sides, rests, strict=True) for most in [_most(rest, sd)]]
    return np.concatenate(drawn), sd


def _most(rest: Floats, sd: float) -> float:
    """The largest distance of a side's point from its median."""
    return DRAWN_IN * max(sd, _scatter(rest))


def _scatter(rest: Floats) -> float:
    return 1.4826 * float(np.median(np.abs(rest))) or float(np.abs(rest).mean())


def _whitened(column: Floats, first: Floats) -> Floats:
    """A column freed of autocorrelation, for every rho: shape (rhos, n)."""
    white = np.empty((RHO.size, column.size))
    white[:, 0] = first * column[0]
    white[:, 1:] = column[1:] - RHO[:, None] * column[:-1]
    return white


def _fits(y: Floats, after: Floats, one: Floats, n: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Least squares for every rho: residual squares with one level and with two, the shift and its standard error."""
    oo, oa, aa = (one * one).sum(1), (one * after).sum(1), (after * after).sum(1)
    oy, ay = (one * y).sum(1), (after * y).sum(1)
    none = ((y - one * (oy / oo)[:, None]) ** 2).sum(1)
    free = aa - oa**2 / oo
    shift = (ay - oa * oy / oo) / free
    level = (oy - shift * oa) / oo
    squares = ((y - one * level[:, None] - after * shift[:, None]) ** 2).sum(1)
    return none, squares, shift, np.sqrt(squares / (n - 3) / free)


def chance(ratio: float, n: int, rho: float) -> float:
    """The probability that a quiet stretch of n points has a likelihood ratio this large at its best split, given the fitted `rho`.

    Short stretches show less autocorrelation than there is, and ratios that are too large for it: they count as smaller, by what
    simulations of quiet series ask for (`perfproof.validation.simulated.steps_chapter`).
    Source: Andrews (1993); DeLong, Communications in Statistics A 10 (1981): the tail of the maximum of a squared Bessel process.
    """
    x = ratio * max(WORTH, 1 - (SHORT + WANDERING * rho) / n)
    if x <= 1 or n < 2 * LEAST:
        return 1.0
    spread = 2 * math.log((n - LEAST) / LEAST)
    tail = math.sqrt(x / (2 * math.pi)) * math.exp(-x / 2) * ((1 - 1 / x) * spread + 2 / x)
    return min(1.0, tail)
