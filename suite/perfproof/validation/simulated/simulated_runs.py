"""Simulated scenarios through the whole decision: looks, family of primary metrics, outlier rule, stopping rule.

`fast` decides thousands of runs at once with `perfproof.analysis.stats.decision_rule`, the lines that `judge_all` calls. `whole` takes the
same runs one by one through observations, pairing, `judge_all` and `should_stop`, as a real run is; that both agree is itself a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from perfproof.analysis.stats import intervals
from perfproof.analysis.stats.alpha_spending import Spending
from perfproof.analysis.stats.decision_rule import CODED, EQUIVALENT, IMPROVED, INCONCLUSIVE, REGRESSED, decide_looks
from perfproof.analysis.stats.samples import Observation, Status, pair
from perfproof.analysis.verdicts.verdict import judge_all, should_stop
from perfproof.validation.simulated.noise import Floats, Trials


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcomes:
    """Of each run: `codes`, shape (runs, metrics), as they stood when the scenario stopped, and `blocks`, shape (runs,), it took.

    `held`, shape (runs, metrics): whether the interval of the look at which the metric was left covers the truth.
    """

    codes: NDArray[np.int8]
    blocks: NDArray[np.int64]
    held: NDArray[np.bool_]

    @property
    def runs(self) -> int:
        """Simulated runs."""
        return int(self.blocks.size)

    def any(self, code: int) -> int:
        """Runs in which any metric has this code."""
        return int((self.codes == code).any(axis=1).sum())

    def all(self, code: int) -> int:
        """Runs in which every metric has this code."""
        return int((self.codes == code).all(axis=1).sum())


def fast(x: Floats, spending: Spending, margin: float, truth: float = 0.0, widening: float | Floats = 1.0) -> Outcomes:
    """Decides runs of x, shape (runs, metrics, blocks); `margin` and `truth` (of the first metric, the others have none) on x's scale."""
    runs, metrics, blocks = x.shape
    looks = spending.taken(blocks)
    rows = x.reshape(runs * metrics, blocks)
    wider = np.repeat(np.broadcast_to(np.asarray(widening, dtype=float), (runs,)), metrics)
    decided = decide_looks(rows, looks, np.full(runs * metrics, margin), wider)
    codes, at = decided.code.reshape(runs, metrics), decided.look.reshape(runs, metrics)
    stop = _stop(codes, at, len(looks) - 1)
    left = np.minimum(at, stop[:, None])
    codes = np.where(at <= stop[:, None], codes, INCONCLUSIVE).astype(np.int8)
    truths = np.zeros((runs, metrics))
    truths[:, 0] = truth
    held = _held(rows, spending, left.ravel(), truths.ravel(), wider).reshape(runs, metrics)
    return Outcomes(codes=codes, blocks=np.array([look.blocks for look in looks])[stop], held=held)


def _stop(codes: NDArray[np.int8], at: NDArray[np.int64], last: int) -> NDArray[np.int64]:
    """The look at which each run stops: the first with a regression, or with all decided, or the last."""
    regressed = np.where(codes == REGRESSED, at, last).min(axis=1)
    decided = np.where(codes == INCONCLUSIVE, last, at).max(axis=1)
    stop: NDArray[np.int64] = np.minimum(regressed, decided)
    return stop


def _held(rows: Floats, spending: Spending, left: NDArray[np.int64], truth: Floats, widening: Floats) -> NDArray[np.bool_]:
    """Whether the change interval, at the look where each row was left, covers the truth."""
    held = np.zeros(left.size, dtype=bool)
    for number, look in enumerate(spending.taken(rows.shape[1])):
        here = left == number
        if here.any():
            found = intervals.student(rows[here, : look.blocks])
            held[here] = np.abs(found.mean - truth[here]) <= found.half(look.level, widening[here])
    return held


def whole(made: Trials, spending: Spending, margin: float) -> tuple[NDArray[np.int8], int]:
    """One run of trials, shape (metrics, blocks), as a real one goes: block by block, a verdict at each, until the rule stops it.

    `margin` is a fraction. Returns the codes of the metrics and the blocks taken.
    """
    metrics, blocks = made.baseline.shape
    observations: list[list[Observation]] = [[] for _ in range(metrics)]
    for block in range(blocks):
        for metric in range(metrics):
            for position, (arm, values) in enumerate((("a", made.baseline), ("b", made.candidate))):
                value = float(np.exp(values[metric, block]))
                observations[metric].append(Observation(block=block, arm=arm, value=value, status=Status.OK, reason="", position=position))
        if block + 1 not in {look.blocks for look in spending.looks}:
            continue
        samples = [pair(seen, baseline="a", candidate="b", metric="m", unit="s", better="lower") for seen in observations]
        verdicts = judge_all(samples, spending, margins=[margin] * metrics, final=False)
        if should_stop(verdicts, block + 1, spending):
            break
    return np.array([CODED.index(verdict.outcome) for verdict in verdicts], dtype=np.int8), block + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of simulated runs, with one-sided 95 % bounds (Clopper-Pearson, by scipy's `binomtest`)."""

    count: int
    runs: int

    @property
    def rate(self) -> float:
        """The share itself."""
        return self.count / self.runs

    @property
    def upper(self) -> float:
        """With 95 % confidence the true share is below this."""
        return float(self._bounds.high)

    @property
    def lower(self) -> float:
        """With 95 % confidence the true share is above this."""
        return float(self._bounds.low)

    @property
    def _bounds(self) -> Any:
        return binomtest(self.count, self.runs).proportion_ci(confidence_level=0.9, method="exact")


def share(count: int, runs: int) -> Share:
    """`count` of `runs`."""
    return Share(count=count, runs=runs)


__all__ = ["EQUIVALENT", "IMPROVED", "INCONCLUSIVE", "REGRESSED", "Outcomes", "Share", "fast", "share", "whole"]
