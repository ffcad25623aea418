"""The detectable effect, and the blocks needed to detect more. All on the scale of x, by integration or simulation of the rule itself.

The minimum detectable effect is the true effect that the rule, with these looks and this spread, calls *regressed* with 80 % power, the
margin included. One look: the mean is normal and, independently, the variance chi-squared, so the chance is one integral over
the deviation. Several looks: each of 8,192 simulated paths of standard normal blocks (fixed seed) has a smallest effect from which
some look calls it regressed before another calls it equivalent; the quantile of those is the answer, without any search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from perfproof.analysis.stats import intervals
from perfproof.analysis.stats.alpha_spending import LEAST_BLOCKS, Look, Spending
from perfproof.analysis.stats.samples import Floats

POWER = 0.8
PATHS = 8192
SEED = 20250711
NODES = 160
MOST_BLOCKS = 1000
"""The most blocks that are ever advised."""
RATIOS = np.concatenate([[0.0], np.geomspace(0.02, 60.0, 95)])
"""Margins in units of the block deviation at which the smallest detectable effect is tabled."""


def smallest_effect(sd: Floats, margin: Floats, looks: Sequence[Look], widening: float = 1.0) -> Floats:
    """The minimum detectable effect, shape (m,), for block deviations and margins of shape (m,) after these looks, on x's scale.

    Infinite where no look was taken.
    Source: integration of this rule over Student's two parts; checked by simulation in `docs/validation.md`.
    """
    sd, margin = np.asarray(sd, dtype=float), np.asarray(margin, dtype=float)
    if not looks:
        return np.full(sd.shape, np.inf)
    table = _table(tuple(looks), round(widening, 6))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(sd > 0, margin / sd, np.inf)
    beyond = np.interp(np.log1p(np.minimum(ratio, RATIOS[-1])), np.log1p(RATIOS), table)
    effect: Floats = margin + sd * beyond
    return effect


@lru_cache(maxsize=256)
def _table(looks: tuple[Look, ...], widening: float) -> Floats:
    """(Smallest effect - margin) / deviation at each of `RATIOS`."""
    if len(looks) == 1:
        found = _single_effect(RATIOS, looks[0].blocks, looks[0].level, widening)
    else:
        found = np.array([np.quantile(_thresholds(looks, float(ratio), widening), POWER) for ratio in RATIOS])
    beyond: Floats = found - RATIOS
    return beyond


def _single_chance(effect: Floats, ratio: Floats, n: int, level: float, widening: float) -> Floats:
    """The probability of *regressed* in one look, everything in units of the deviation; shape of `effect`."""
    nodes, weights = _deviations(n)
    bar = np.maximum(ratio[:, None], intervals.quantile(n, level) * widening * nodes[None, :] / math.sqrt(n))
    chance: Floats = scipy.special.ndtr((effect[:, None] - bar) * math.sqrt(n)) @ weights
    return chance


def _single_effect(ratio: Floats, n: int, level: float, widening: float) -> Floats:
    """Bisection for the effect with the wanted chance, over all ratios at once."""
    low, high = np.zeros_like(ratio), ratio + 5 * intervals.quantile(n, level) * widening
    for _ in range(50):
        middle = (low + high) / 2
        enough = _single_chance(middle, ratio, n, level, widening) >= POWER
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


@lru_cache(maxsize=64)
def _deviations(n: int) -> tuple[Floats, Floats]:
    """Nodes and weights of the integral over s/sigma, which is distributed as chi with n - 1 degrees over sqrt(n - 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = (n - 1) / 2  # of the degrees of freedom; half the square of a chi is gamma-distributed
    top, bottom = (math.sqrt(2 * inverse(half, 1e-9)) for inverse in (scipy.special.gammainccinv, scipy.special.gammaincinv))
    points = bottom + (nodes + 1) / 2 * (top - bottom)
    log_mass = (2 * half - 1) * np.log(points) - points**2 / 2
    mass = weights * np.exp(log_mass - log_mass.max())  # the largest is 1, however many blocks there are
    return points / math.sqrt(n - 1), mass / mass.sum()


@lru_cache(maxsize=8)
def _paths(blocks: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Mean and deviation, shape (looks, PATHS), of standard normal blocks at each look; the points of a scrambled Sobol sequence, which
    lie more evenly than random ones."""
    from scipy.stats import qmc  # late: its import takes longer than an answer may take, and one look needs no paths

    sobol = qmc.Sobol(blocks[-1], rng=np.random.default_rng(SEED))
    draws = scipy.special.ndtri(np.clip(sobol.random(PATHS), 1e-12, 1 - 1e-12))
    means = np.stack([draws[:, :n].mean(axis=1) for n in blocks])
    deviations = np.stack([draws[:, :n].std(axis=1, ddof=1) for n in blocks])
    return means, deviations


def _thresholds(looks: tuple[Look, ...], ratio: float, widening: float) -> Floats:
    """For each path, the smallest effect that is called *regressed*; units of the deviation, shape (PATHS,)."""
    means, deviations = _paths(tuple(look.blocks for look in looks))
    best, stopped = np.full(PATHS, np.inf), np.full(PATHS, -np.inf)
    for mean, deviation, look in zip(means, deviations, looks, strict=True):
        error = widening * deviation / math.sqrt(look.blocks)
        needed = np.maximum(ratio, intervals.quantile(look.blocks, look.level) * error) - mean
        best = np.minimum(best, np.maximum(needed, stopped))
        room = ratio - intervals.quantile(look.blocks, look.equivalence_level) * error
        stopped = np.maximum(stopped, np.where(room > 0, room - mean, -np.inf))
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """What would settle an *inconclusive* if the estimate and the spread are true: `total` blocks in all, `more` than now.

    `from_start` says that the design ends before: blocks after its last look would be a further look, for which no error is left. So all
    blocks are measured again, in a new design. `minutes` is the time of the blocks to measure.
    """

    total: int
    more: int
    from_start: bool
    minutes: float | None
    as_: str
    """The outcome it would then have: "regressed", "improved" or "equivalent"."""


def settling_blocks(mean: Floats, sd: Floats, margin: Floats, look: Look, widening: float = 1.0) -> Floats:
    """The total of blocks at which the look's rule settles with 80 % power if mean and sd are true, shape (m,); may be infinite.

    The normal approximation with a correction for the unknown deviation. Source: Guenther, The American Statistician 35, 1981.
    """
    size, spread = np.abs(mean), np.maximum(sd * widening, 1e-300)
    z, z_equal, reach = (float(scipy.special.ndtri(p)) for p in (1 - look.change, 1 - look.equivalence, POWER))
    both_ways = float(scipy.special.ndtri((1 + POWER) / 2))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        seen = ((z + reach) * spread / size) ** 2 + z**2 / 2
        clear = (reach * spread / (size - margin)) ** 2
        change = np.where(size > margin, np.maximum(seen, clear), np.inf)
        room = margin - size
        tail = np.where(size < 0.25 * margin, both_ways, reach)
        equal = np.where(room > 0, ((z_equal + tail) * spread / room) ** 2 + z_equal**2 / 2, np.inf)
    total: Floats = np.ceil(np.minimum(change, equal))
    return total


def settled_by(
    total: float, mean: float, margin: float, blocks: int, minutes_per_block: float | None = None, most: int | None = None
) -> Settling | None:
    """What to do after `blocks` blocks to reach the `total` of `settling_blocks`; None beyond `MOST_BLOCKS`.

    `most` is the largest number of blocks in the design, None where blocks may be added freely.

    Source: `settling_blocks`.
    """
    if not total <= MOST_BLOCKS:
        return None
    count = max(int(total), blocks + 1, LEAST_BLOCKS)
    more = max(count - blocks, 1)
    outcome = "equivalent" if abs(mean) < margin else "regressed" if mean > 0 else "improved"
    from_start = most is not None and count > most
    minutes = None if minutes_per_block is None else (count if from_start else more) * minutes_per_block
    return Settling(total=count, more=more, from_start=from_start, minutes=minutes, as_=outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookPower:
    """The power of one look: with `blocks` blocks in `minutes`, a change of `effect` (a positive fraction, in the worse direction) is
    called *regressed* with 80 % power, and no change at all is called *equivalent* with probability `equivalent`."""

    blocks: int
    minutes: float | None
    effect: float
    equivalent: float


def look_powers(
    sd: float, margin: float, spending: Spending, *, better: str = "lower", minutes_per_block: float | None = None, widening: float = 1.0
) -> list[LookPower]:
    """What each planned look can detect, given a noise floor (`sd` of x over blocks) and a margin on x's scale.

    Source: `smallest_effect` and `equivalence_chance`.
    """
    found = []
    for count in range(1, len(spending.looks) + 1):
        looks = spending.looks[:count]
        effect = float(smallest_effect(np.array([sd]), np.array([margin]), looks, widening)[0])
        found.append(
            LookPower(
                blocks=looks[-1].blocks,
                minutes=None if minutes_per_block is None else looks[-1].blocks * minutes_per_block,
                effect=math.expm1(effect) if better == "lower" else -math.expm1(-effect),
                equivalent=equivalence_chance(sd, margin, looks, widening),
            )
        )
    return found


def equivalence_chance(sd: float, margin: float, looks: Sequence[Look], widening: float = 1.0) -> float:
    """The probability that the last of these looks calls no change at all *equivalent* (simulated paths).

    Source: simulation of this rule.
    """
    means, deviations = _paths(tuple(look.blocks for look in looks))
    settled = np.zeros(PATHS, dtype=bool)
    for mean, deviation, look in zip(means, deviations, looks, strict=True):
        narrow = intervals.quantile(look.blocks, look.equivalence_level) * widening * deviation / math.sqrt(look.blocks)
        settled |= np.abs(mean) + narrow < margin / max(sd, 1e-300)
    return float(settled.mean())
