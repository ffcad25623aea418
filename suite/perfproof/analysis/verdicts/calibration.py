"""The baseline against itself: the noise of this machine, and whether its timed verdicts can be trusted at all.

A short A/A (from 6 blocks) measures the spread. A long one (60 blocks and more) also tests whether going first matters
(`scipy.stats.ttest_ind` of the blocks that ran AB against those that ran BA) and whether blocks are autocorrelated (Ljung and
Box's test; below 60 blocks it has too little power), and counts the wrong verdicts of the rule.

An A/A fails if the rule itself finds a change where there is none, or, in the long form, if the order effect is significant at .01. Metrics
share both errors, so that more metrics do not fail a machine more often. Then that machine gives no timed verdict, in either direction,
until an A/A passes. A positive autocorrelation rho does not fail an A/A: it widens later intervals by
sqrt((1 + rho)/(1 - rho)), the inflation of a mean's standard error in a first-order autoregression (Bartlett, JRSS Supplement 8, 1946).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from perfproof.analysis.stats import number_format
from perfproof.analysis.stats.alpha_spending import MOST_PRIMARIES, one_look
from perfproof.analysis.stats.comparison import margin_on_scale, to_effect
from perfproof.analysis.stats.decision_rule import IMPROVED, REGRESSED, decide_looks
from perfproof.analysis.stats.samples import Floats, PairedSample
from perfproof.analysis.verdicts.verdict import DEFAULT_MARGIN, Verdict, judge
from perfproof.model.verdicts.judged import Outcome
from perfproof.model.verdicts.noise_floor import Floor

LONG = 60
"""The blocks from which order effect and autocorrelation are tested."""
WINDOW = 10
"""Blocks of one of the consecutive runs in which false verdicts are counted."""
ORDER_ERROR = 0.01
MOST_WIDENING = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderEffect:
    """How much worse (x's scale) the candidate looks when it runs second rather than first, and the p of no such effect."""

    effect: float
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Autocorrelation:
    """Correlation of a block with the one before it (corrected for its bias), and Ljung and Box's p of none."""

    rho: float
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFloor:
    """The result of an A/A for later plans and verdicts: the deviation of x over blocks with its 95 % interval, and the widening."""

    metric: str
    unit: str
    better: str
    blocks: int
    sd: float
    sd_interval: tuple[float, float]
    widening: float
    minutes_per_block: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """One metric's A/A: its noise floor, the rule's verdict, and whether it passed.

    `order` and `autocorrelation` are None in the short form. `false_verdicts` of `windows` consecutive runs of up to 10 blocks were
    called regressed or improved, each taken as one look.
    """

    floor: NoiseFloor
    effect: float
    verdict: Verdict
    order: OrderEffect | None
    autocorrelation: Autocorrelation | None
    false_verdicts: int
    windows: int
    passed: bool
    reason: str


def calibrate(
    sample: PairedSample, *, margin: float = DEFAULT_MARGIN, metrics: int = 1, minutes_per_block: float | None = None
) -> Calibration:
    """Evaluates the A/A of one of `metrics` metrics; `sample` pairs the baseline with itself, in the order of time.

    Raises ValueError below 2 whole blocks: there is no spread to measure.
    Source: the parts below.
    """
    if sample.n < 2:
        raise ValueError(f"an A/A needs at least 2 whole blocks to show a spread, not {sample.n}")
    x = sample.x
    family = min(max(metrics, 1), MOST_PRIMARIES)
    verdict = judge(sample, one_look(sample.n, family), margin=margin)
    order = order_effect(x, sample.candidate_first) if sample.n >= LONG else None
    correlation = autocorrelation(x) if sample.n >= LONG else None
    false, windows = false_verdicts(x, margin_on_scale(margin, sample.scale))
    reason = _fault(verdict, order, family)
    sd = float(x.std(ddof=1))
    floor = NoiseFloor(
        metric=sample.metric,
        unit=sample.unit,
        better=sample.better,
        blocks=sample.n,
        sd=sd,
        sd_interval=sd_interval(sd, sample.n),
        widening=widening(correlation.rho) if correlation else 1.0,
        minutes_per_block=minutes_per_block,
    )
    return Calibration(
        floor=floor,
        effect=float(to_effect(x.mean(keepdims=True), sample.better, sample.scale)[0]),
        verdict=verdict,
        order=order,
        autocorrelation=correlation,
        false_verdicts=false,
        windows=windows,
        passed=not reason,
        reason=reason or _praise(floor, order, correlation),
    )


def order_effect(x: Floats, candidate_first: np.typing.NDArray[np.bool_]) -> OrderEffect | None:
    """Blocks in which the candidate ran second against those in which it ran first (`scipy.stats.ttest_ind`); None where either kind
    has fewer than 3 blocks.

    Source: Student's two-sample test; `scipy.stats.ttest_ind`.
    """
    second, first = x[~candidate_first], x[candidate_first]
    if min(second.size, first.size) < 3:
        return None
    from scipy.stats import ttest_ind  # late: its import takes longer than an answer may take

    p = float(ttest_ind(second, first).pvalue) if np.ptp(x) > 0 else 1.0
    return OrderEffect(effect=float(second.mean() - first.mean()), p=p)


def autocorrelation(x: Floats) -> Autocorrelation:
    """Lag-1 autocorrelation with Ljung and Box's test.

    The estimate is raised by (1 + 4 rho)/n, its bias when the mean is estimated too. Sources: Marriott & Pope, Biometrika 41, 1954;
    Ljung & Box, Biometrika 65, 1978.
    """
    rest = x - x.mean()
    if not np.ptp(x) > 0:
        return Autocorrelation(rho=0.0, p=1.0)
    rho = float((rest[1:] * rest[:-1]).sum() / (rest**2).sum())
    p = float(scipy.special.chdtrc(1, x.size * (x.size + 2) * rho**2 / (x.size - 1)))
    return Autocorrelation(rho=max(-0.99, min(0.99, rho + (1 + 4 * rho) / x.size)), p=p)


def widening(rho: float) -> float:
    """How much wider later intervals must be for a measured lag-1 autocorrelation; 1 where it is not positive, at most 3.

    Source: Bartlett, JRSS Supplement 8, 1946.
    """
    return min(MOST_WIDENING, math.sqrt((1 + rho) / (1 - rho))) if rho > 0 else 1.0


def false_verdicts(x: Floats, margin: float) -> tuple[int, int]:
    """How many of the consecutive runs of 10 blocks (all blocks, where there are fewer than 20) the rule calls a change, of how many.

    Source: `decision.decide_looks`.
    """
    size = WINDOW if x.size >= 2 * WINDOW else x.size
    count = x.size // size
    runs = x[: count * size].reshape(count, size)
    codes = decide_looks(runs, one_look(size).taken(size), np.full(count, margin)).code
    return int(np.isin(codes, (REGRESSED, IMPROVED)).sum()), count


def sd_interval(sd: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """The chi-squared interval of a normal deviation from n values.

    Source: the chi-squared distribution; `scipy.special.gammaincinv`.
    """
    tail = (1 - level) / 2
    low, high = (math.sqrt((n - 1) / 2 / float(scipy.special.gammaincinv((n - 1) / 2, p))) for p in (1 - tail, tail))
    return sd * low, sd * high


def _fault(verdict: Verdict, order: OrderEffect | None, family: int) -> str:
    """Why the A/A fails, or "" where it passes."""
    if verdict.outcome in (Outcome.REGRESSED, Outcome.IMPROVED):
        return f"the baseline differs from itself: {verdict.reason}"
    if verdict.outcome is Outcome.UNTESTABLE:
        return f"the A/A itself is untestable: {verdict.reason}"
    if order is not None and order.p < ORDER_ERROR / family:
        worse = number_format.percent(math.expm1(order.effect))
        return f"the order matters: an arm that runs second looks {worse} against itself running first (p = {order.p:.2g})"
    return ""


def _praise(floor: NoiseFloor, order: OrderEffect | None, correlation: Autocorrelation | None) -> str:
    low, high = (number_format.percent(each, signed=False) for each in floor.sd_interval)
    spread = f"the blocks deviate by {number_format.percent(floor.sd, signed=False)} ({low} to {high}) over {floor.blocks} blocks"
    if order is None or correlation is None:
        return f"{spread}; order effect and autocorrelation are tested from {LONG} blocks on"
    return f"{spread}, order effect p = {order.p:.2g}, autocorrelation {correlation.rho:+.2f} (p = {correlation.p:.2g})"


def sentences(calibration: Calibration, *, tested: bool = True) -> list[str]:
    """An A/A in sentences with numbers; only the spread of a metric that was not `tested`.

    Source: none, a reading of the calibration.
    """
    floor = calibration.floor
    low, high = (number_format.percent(each, signed=False) for each in floor.sd_interval)
    sentences = [
        f"its blocks deviate by {number_format.percent(floor.sd, signed=False)} ({low} to {high}), over "
        f"{number_format.count(floor.blocks, 'block')}"
    ]
    if not tested:
        return sentences
    sentences += [*([] if calibration.passed else [calibration.reason]), *calibration.verdict.warnings]
    sentences.append(
        f"{calibration.false_verdicts} of {number_format.count(calibration.windows, 'run')} of up to {WINDOW} blocks called a change where "
        f"there is none"
    )
    if calibration.order is None or calibration.autocorrelation is None:
        return [*sentences, f"order effect and autocorrelation are tested from {LONG} blocks on"]
    effect = number_format.percent(math.expm1(calibration.order.effect))
    rho, stretch = calibration.autocorrelation, f"; later intervals are {floor.widening:.2f} times as wide" if floor.widening > 1 else ""
    return [
        *sentences,
        f"running second instead of first changes it by {effect} (p = {calibration.order.p:.2g})",
        f"the autocorrelation of blocks is {rho.rho:+.2f} (p = {rho.p:.2g}){stretch}",
    ]


def distrust(calibrations: Sequence[Calibration]) -> str:
    """Why a machine's timed verdicts cannot be given (for `judge_all`), or "" where every metric's A/A passed or none was made.

    Source: none, a reading of the calibrations.
    """
    return _distrust([(each.floor.metric, each.reason) for each in calibrations if not each.passed])


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The result of earlier A/As for verdicts: why there can be none ("" if there can), and the widening of intervals."""

    distrust: str = ""
    widening: float = 1.0


def trusted(floors: Sequence[Floor], machines: Collection[str], workloads: Collection[str], hosts: Collection[str] = ()) -> Trust:
    """The trust in records of these machines (fingerprints) and workloads (digests), from the A/As of the primary metrics.

    Of `hosts`, their own A/As count where there are any, else those of their kind of machine.

    `floors` come oldest first. A failure stands until an A/A of at least that size passes: as many blocks, or the long form. A widening
    stands until the next long form. Of several machines, one that failed is enough. Without an A/A there is no distrust.
    Source: none, a reading of the floors; of the widening: Bartlett, JRSS Supplement 8, 1946.
    """
    failed: dict[tuple[str, str, str], Floor] = {}
    widened: dict[tuple[str, str, str], float] = {}
    fitting = [floor for floor in floors if floor.primary and counts_for(floor, machines, workloads)]
    own = [floor for floor in fitting if floor.host in hosts]
    for floor in own or fitting:
        key = floor.machine, floor.workload, floor.metric
        if not floor.passed:
            failed[key] = floor
        elif key in failed and floor.blocks >= min(failed[key].blocks, LONG):
            del failed[key]
        if floor.rho is not None:
            widened[key] = floor.widening
    return Trust(
        distrust=_distrust([(floor.metric, floor.reason) for floor in failed.values()]),
        widening=max((1.0, *widened.values())),
    )


def counts_for(floor: Floor, machines: Collection[str], workloads: Collection[str]) -> bool:
    """Whether a floor was measured on one of these machines with one of these workloads.

    Source: none.
    """
    return floor.machine in machines and floor.workload in workloads


def _distrust(failed: Sequence[tuple[str, str]]) -> str:
    return f"the A/A of this machine failed: {failed[0][0]}: {failed[0][1]}" if failed else ""
