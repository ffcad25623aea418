"""Blocks with a known truth. A kind of noise is a function of the random source, a shape and nothing else; unit deviation each.

The deviation that a case names is that of x = log(candidate/baseline) over blocks, so each arm's own trials deviate by 1/sqrt(2) of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Source = np.random.Generator
ROUNDS = 5
"""Timed rounds inside a trial; they scatter half as much as the trials do."""
DRIFT = 4.0
"""Drift over 24 blocks, in block deviations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Log times of `baseline` and `candidate`, shape (runs, blocks) each, in the order of blocks."""

    baseline: Floats
    candidate: Floats

    @property
    def x(self) -> Floats:
        """Log ratios, > 0 where the candidate is slower."""
        difference: Floats = self.candidate - self.baseline
        return difference


def gaussian(source: Source, shape: tuple[int, ...]) -> Floats:
    """Normal."""
    return source.standard_normal(shape)


def heavy(source: Source, shape: tuple[int, ...]) -> Floats:
    """Student's t with 3 degrees of freedom."""
    tails: Floats = source.standard_t(3, shape) / math.sqrt(3)
    return tails


def skewed(source: Source, shape: tuple[int, ...]) -> Floats:
    """Exponential: never much faster than usual, often slower."""
    late: Floats = source.exponential(1, shape) - 1
    return late


def outlying(source: Source, shape: tuple[int, ...]) -> Floats:
    """Normal, but one trial in twenty is slower by 3 to 12 deviations; the others keep unit deviation."""
    hit = source.random(shape) < 0.05
    struck: Floats = source.standard_normal(shape) + hit * source.uniform(3, 12, shape)
    return struck


def correlated(rho: float) -> Callable[[Source, tuple[int, ...]], Floats]:
    """A first-order autoregression over the blocks of each arm."""

    def draw(source: Source, shape: tuple[int, ...]) -> Floats:
        series = source.standard_normal(shape)
        for block in range(1, shape[-1]):
            series[..., block] = rho * series[..., block - 1] + math.sqrt(1 - rho**2) * series[..., block]
        return series

    return draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of noise: how one arm's errors are drawn, the candidate's deviation against the baseline's, and the drift of the run."""

    name: str
    draw: Callable[[Source, tuple[int, ...]], Floats]
    ratio: float
    drift: float


def _kind(name: str, draw: Callable[[Source, tuple[int, ...]], Floats], ratio: float = 1.0, drift: float = 0.0) -> Kind:
    return Kind(name=name, draw=draw, ratio=ratio, drift=drift)


GAUSSIAN = _kind("Gaussian", gaussian)
KINDS = (
    GAUSSIAN,
    _kind("drift", gaussian, drift=DRIFT),
    _kind("heavy tails", heavy),
    _kind("outliers", outlying),
    _kind("skew", skewed),
    _kind("unequal variances", gaussian, ratio=3.0),
)
HARDER = (
    _kind("skew, candidate more variable", skewed, ratio=3.0),
    _kind("skew, baseline more variable", skewed, ratio=1 / 3),
    _kind("outliers and drift", outlying, drift=DRIFT),
)
CORRELATED = tuple(_kind(f"autocorrelation {rho}", correlated(rho)) for rho in (0.2, 0.4, 0.6))


def trials(source: Source, kind: Kind, shape: tuple[int, ...], sd: float, effect: float = 0.0) -> Trials:
    """Trials of shape (runs, blocks) with block deviation `sd` and a true log ratio `effect`, interleaved: the candidate goes first in
    a random one of each two blocks, and second in the other, as `perfproof.analysis.stats.block_order` orders them."""
    small = sd / math.sqrt((1 + kind.ratio**2) / 2) / math.sqrt(2)
    baseline, candidate = small * kind.draw(source, shape), small * kind.ratio * kind.draw(source, shape)
    if kind.drift:
        first = _ahead(source, shape)
        slope = kind.drift * sd / 48
        at = 2 * np.arange(shape[-1])
        baseline = baseline + slope * (at + first)
        candidate = candidate + slope * (at + 1 - first)
    return Trials(baseline=baseline, candidate=candidate + effect)


def _ahead(source: Source, shape: tuple[int, ...]) -> Floats:
    """1 where the candidate goes first; permuted pairs of blocks."""
    pairs = (shape[-1] + 1) // 2
    lead = source.integers(0, 2, (*shape[:-1], pairs))
    ahead: Floats = np.stack([lead, 1 - lead], axis=-1).reshape(*shape[:-1], 2 * pairs)[..., : shape[-1]].astype(float)
    return ahead


def one_after_the_other(source: Source, kind: Kind, shape: tuple[int, ...], sd: float, effect: float = 0.0) -> Trials:
    """The same noise where all trials of the baseline run first and then all of the candidate, as most tools are used."""
    plain = Kind(name=kind.name, draw=kind.draw, ratio=kind.ratio, drift=0.0)
    found = trials(source, plain, shape, sd, effect)
    slope, at = kind.drift * sd / 48, np.arange(shape[-1])
    return Trials(baseline=found.baseline + slope * at, candidate=found.candidate + slope * (at + shape[-1]))


def rounds(source: Source, log_times: Floats, sd: float, count: int = ROUNDS) -> Floats:
    """Seconds of the rounds of each trial, shape (..., blocks, count); the median of a trial's rounds is the trial's own time."""
    scatter = source.standard_normal((*log_times.shape, count)) * sd / math.sqrt(2) / 2
    scatter -= np.median(scatter, axis=-1, keepdims=True)
    seconds: Floats = np.exp(log_times[..., None] + scatter)
    return seconds
