"""The comparison of two arms in one metric: the numbers, before any verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from perfproof.analysis.stats import intervals, power
from perfproof.analysis.stats.alpha_spending import Look
from perfproof.analysis.stats.decision_rule import OUTLIER
from perfproof.analysis.stats.samples import Floats, Lost, PairedSample, Scale
from perfproof.model.scenarios.metrics import Better

Interval = tuple[float, float]
COMPANION_LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlier:
    """The block farthest from the others, and its externally studentised residual (beyond 4: an outlier)."""

    block: int
    residual: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Candidate against baseline in one metric, over the blocks of the look that decided it (or the last one taken).

    `effect`, `interval`, `companion`, `margin` and `mde` are relative changes as fractions (+0.05: the candidate's value is 5 % higher;
    `better` says whether that is good), on the difference scale plain differences. `margin` and `mde` are sizes, > 0, in the worse
    direction. `mean_log` and `sd_log` are those of x, where > 0 is worse.
    """

    metric: str
    unit: str
    better: Better
    scale: Scale
    blocks: int
    baseline: float
    """Median over blocks, in the unit."""
    candidate: float
    effect: float
    interval: Interval
    level: float
    equivalence_interval: Interval
    equivalence_level: float
    p: float
    mean_log: float
    sd_log: float
    margin: float
    margin_log: float
    companion: float
    companion_interval: Interval | None
    """Exact signed-rank interval at 95 %; None below 6 blocks, where there is none."""
    mde: float | None
    """None where no look was taken."""
    outlier: Outlier | None
    widening: float
    lost: tuple[Lost, ...]


def margin_on_scale(margin: float, scale: Scale) -> float:
    """A margin given as a fraction (or a difference) on the scale of x; symmetric there. Raises ValueError unless 0 < margin < 1.

    Source: none, a change of scale.
    """
    if not 0 < margin < 1:
        raise ValueError(f"a margin is a fraction between 0 and 1, not {margin}")
    return math.log1p(margin) if scale == "log" else margin


def to_effect(x: Floats, better: Better, scale: Scale) -> Floats:
    """From x (> 0 is worse) to the relative change of candidate against baseline (or the difference).

    Source: none, a change of scale.
    """
    signed = x if better == "lower" else -x
    return np.expm1(signed) if scale == "log" else signed


def to_size(x: Floats, better: Better, scale: Scale) -> Floats:
    """The size, > 0, of a change of x in the worse direction.

    Source: none, a change of scale.
    """
    return np.abs(to_effect(x, better, scale))


def compare_stack(
    samples: Sequence[PairedSample],
    x: Floats,
    look: Look,
    looks: Sequence[Look],
    margin_log: Floats,
    margins: Sequence[float],
    widening: float,
) -> list[Comparison]:
    """Comparisons of m samples of the same better, scale and blocks: x has shape (m, n), n >= 2, and n is the blocks of `look`.

    `looks` are those taken up to this one (none: no minimum detectable effect).
    Source: `intervals` and `power`.
    """
    numbers = _numbers(samples, x, look, looks, margin_log, widening)
    rows = zip(samples, numbers, margins, _outliers(samples, x), strict=True)
    return [_comparison(sample, row, look, margin, outlier, widening) for sample, row, margin, outlier in rows]


class _Numbers(NamedTuple):
    """The numbers of one sample, computed for all samples at once. All are effects, except those named `_log`.

    NaN: an end of the companion's interval with too few blocks, `mde` where no look was taken.
    """

    baseline: float
    candidate: float
    p: float
    mean_log: float
    sd_log: float
    margin_log: float
    effect: float
    companion: float
    low: float
    high: float
    equal_low: float
    equal_high: float
    companion_low: float
    companion_high: float
    mde: float


def _numbers(
    samples: Sequence[PairedSample], x: Floats, look: Look, looks: Sequence[Look], margin_log: Floats, widening: float
) -> list[_Numbers]:
    """The numbers of each sample, computed for all of them at once."""
    n, better, scale = x.shape[1], samples[0].better, samples[0].scale
    found, robust = intervals.student(x), intervals.companion(x, COMPANION_LEVEL)
    medians = [np.median([arm[:n] for arm in arms], axis=1) for arms in ([s.baseline for s in samples], [s.candidate for s in samples])]
    plain = np.stack([*medians, intervals.p_values(found), found.mean, found.sd, margin_log])
    effects = to_effect(np.stack([found.mean, robust.middle, *_ends(found, robust, look, widening, better)]), better, scale)
    mde = to_size(power.smallest_effect(found.sd, margin_log, looks, widening), better, scale) if looks else np.full(len(samples), np.nan)
    return [_Numbers._make(row) for row in np.vstack([plain, effects, mde]).T.tolist()]


def _ends(found: intervals.Student, robust: intervals.Companion, look: Look, widening: float, better: Better) -> list[Floats]:
    """The ends of each sample's interval, equivalence interval and companion interval, on the scale of x; the lower effect first."""
    half, narrow = found.half(look.level, widening), found.half(look.equivalence_level, widening)
    low, high = (np.where(np.isfinite(end), end, np.nan) for end in (robust.low, robust.high))
    ends = [(found.mean - half, found.mean + half), (found.mean - narrow, found.mean + narrow), (low, high)]
    return [end for pair in ends for end in (pair if better == "lower" else reversed(pair))]


def _comparison(sample: PairedSample, row: _Numbers, look: Look, margin: float, outlier: Outlier | None, widening: float) -> Comparison:
    return Comparison(
        metric=sample.metric,
        unit=sample.unit,
        better=sample.better,
        scale=sample.scale,
        blocks=look.blocks,
        baseline=row.baseline,
        candidate=row.candidate,
        effect=row.effect,
        interval=(row.low, row.high),
        level=look.level,
        equivalence_interval=(row.equal_low, row.equal_high),
        equivalence_level=look.equivalence_level,
        p=row.p,
        mean_log=row.mean_log,
        sd_log=row.sd_log,
        margin=margin,
        margin_log=row.margin_log,
        companion=row.companion,
        companion_interval=None if math.isnan(row.companion_low) else (row.companion_low, row.companion_high),
        mde=None if math.isnan(row.mde) else row.mde,
        outlier=outlier,
        widening=widening,
        lost=sample.lost,
    )


def _outliers(samples: Sequence[PairedSample], x: Floats) -> list[Outlier | None]:
    """The most extreme block of each sample, if it is further out than chance explains."""
    residuals = intervals.studentised(x)
    worst = np.abs(residuals).argmax(axis=1)
    far = residuals[np.arange(len(samples)), worst].tolist()
    return [
        Outlier(block=int(sample.blocks[place]), residual=residual) if abs(residual) > OUTLIER else None
        for sample, place, residual in zip(samples, worst, far, strict=True)
    ]
