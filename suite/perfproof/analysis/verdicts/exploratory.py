"""Metrics that are not primary: estimates, plain 95 % intervals and q-values. They have no verdict and never gate.

The q-values are Benjamini-Yekutieli's, which hold under any dependence between metrics (Annals of Statistics 29, 2001;
`scipy.stats.false_discovery_control`, `by`): among metrics with q below .05 at most one in twenty is expected to be nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfproof.analysis.stats import intervals, number_format
from perfproof.analysis.stats.comparison import to_effect
from perfproof.analysis.stats.samples import PairedSample

LEVEL = 0.95
NOTABLE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The estimate of one exploratory metric; `effect`, `interval` (95 %), `p` and `q` are None where it could not be estimated."""

    metric: str
    blocks: int
    effect: float | None
    interval: tuple[float, float] | None
    p: float | None
    q: float | None
    reason: str


def explore(samples: Sequence[PairedSample]) -> list[Estimate]:
    """Estimates of many metrics, in their order; the q-values are over all metrics that could be estimated.

    Source: Benjamini & Yekutieli, Annals of Statistics 29, 2001; `scipy.stats.false_discovery_control`.
    """
    plain = [_estimate(sample) for sample in samples]
    known = [place for place, estimate in enumerate(plain) if estimate.p is not None]
    if not known:
        return plain
    from scipy.stats import false_discovery_control  # late: its import takes longer than an answer may take

    q_values = false_discovery_control([plain[place].p or 0.0 for place in known], method="by")
    q = dict(zip(known, q_values.tolist(), strict=True))
    return [_with_q(estimate, q[place]) if place in q else estimate for place, estimate in enumerate(plain)]


def _estimate(sample: PairedSample) -> Estimate:
    reason = ""
    if sample.broken:
        reason = f"block {sample.broken[0].block}: {sample.broken[0].reason or sample.broken[0].status}"
    elif sample.n < 2:
        reason = f"{number_format.count(sample.n, 'whole block')}: nothing to estimate from"
    if reason:
        return Estimate(metric=sample.metric, blocks=sample.n, effect=None, interval=None, p=None, q=None, reason=reason)
    found = intervals.student(sample.x[None, :])
    half = found.half(LEVEL)
    ends = to_effect(np.stack([found.mean - half, found.mean, found.mean + half]), sample.better, sample.scale)[:, 0].tolist()
    low, effect, high = ends if sample.better == "lower" else ends[::-1]
    return Estimate(
        metric=sample.metric, blocks=sample.n, effect=effect, interval=(low, high), p=float(intervals.p_values(found)[0]), q=None, reason=""
    )


def _with_q(plain: Estimate, q: float) -> Estimate:
    reason = f"q = {q:.2g}: " + ("worth declaring primary and running again" if q < NOTABLE else "may well be noise")
    return Estimate(metric=plain.metric, blocks=plain.blocks, effect=plain.effect, interval=plain.interval, p=plain.p, q=q, reason=reason)
