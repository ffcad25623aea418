"""From a comparison to a verdict: the rule of `decision_rule` applied to paired samples, with a reason in words and warnings.

`judge_all` is the one way in (a single sample is a list of one), so simulations, gates and reports all use the same code. `should_stop` is
the stopping rule of a scenario between looks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from perfproof.analysis.stats import number_format, power
from perfproof.analysis.stats.alpha_spending import LEAST_BLOCKS, Look, Spending
from perfproof.analysis.stats.comparison import Comparison, compare_stack, margin_on_scale
from perfproof.analysis.stats.decision_rule import CODED, decide_looks
from perfproof.analysis.stats.samples import Lost, PairedSample, Status
from perfproof.model.records.record import INTERRUPTED
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN
from perfproof.model.verdicts.judged import Outcome

Advice = Callable[[Comparison, float], power.Settling | None]
"""Gives what would settle a comparison that needs this total of blocks."""
CHUNK = 4_000_000
"""The most Walsh averages computed at once, to limit memory."""
BEYOND = "; the whole interval lies beyond the margin"
"""The end of the reason where the whole interval lies beyond the margin."""
MOST_INVALID = 0.5
"""The share of invalid blocks from which the rest are not judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """An outcome, its comparison (None where there is nothing to compare), its reason, and warnings."""

    outcome: Outcome
    comparison: Comparison | None
    reason: str
    warnings: tuple[str, ...]
    exact: bool
    """Decided by comparing exact counts, not by statistics."""
    settling: power.Settling | None
    """For *inconclusive*: what would settle it."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The deciding interval: the equivalence interval for *equivalent*, else the one for a change."""
        if self.comparison is None:
            return None
        return self.comparison.equivalence_interval if self.outcome is Outcome.EQUIVALENT else self.comparison.interval

    @property
    def level(self) -> float | None:
        """The confidence of `interval`."""
        if self.comparison is None:
            return None
        return self.comparison.equivalence_level if self.outcome is Outcome.EQUIVALENT else self.comparison.level


def judge(
    sample: PairedSample,
    spending: Spending,
    *,
    margin: float = DEFAULT_MARGIN,
    widening: float = 1.0,
    distrust: str = "",
    final: bool = True,
    minutes_per_block: float | None = None,
    planned: bool = False,
) -> Verdict:
    """The verdict on one paired sample; see `judge_all`.

    Source: see `judge_all`.
    """
    return judge_all(
        [sample],
        spending,
        margins=[margin],
        widening=widening,
        distrust=distrust,
        final=final,
        minutes_per_block=minutes_per_block,
        planned=planned,
    )[0]


def judge_all(
    samples: Sequence[PairedSample],
    spending: Spending,
    *,
    margins: Sequence[float],
    widening: float = 1.0,
    distrust: str = "",
    final: bool = True,
    minutes_per_block: float | None = None,
    planned: bool = False,
) -> list[Verdict]:
    """Verdicts on m paired samples that share the looks of `spending`, in their order.

    `margins` are m fractions; `widening` (from a long A/A, at least 1) stretches every interval; `distrust` says why this machine's
    timed metrics cannot be trusted (a failed A/A) and makes all of them untestable; `final` is False while a run may still go on;
    `planned` says that the looks are a scenario's: a run measures no blocks beyond them.
    Source of the rule: `decision_rule`; of the looks: `alpha_spending`.
    """
    verdicts: dict[int, Verdict] = {}
    groups: dict[tuple[int, str, str], list[int]] = defaultdict(list)
    for place, sample in enumerate(samples):
        if reason := distrust or _broken(sample, final):
            verdicts[place] = _bare(Outcome.UNTESTABLE, reason)
        elif sample.n < 2:
            verdicts[place] = _bare(Outcome.INCONCLUSIVE, _too_few(sample.n))
        else:
            groups[sample.n, sample.better, sample.scale].append(place)
    for (n, _, _), places in groups.items():
        step = max(1, CHUNK // min(n * (n + 1) // 2, 80_000))
        for start in range(0, len(places), step):
            part = places[start : start + step]
            advice = partial(_settling, most=spending.looks[-1].blocks if planned else None, minutes_per_block=minutes_per_block)
            judged = _judge_stack([samples[i] for i in part], [margins[i] for i in part], spending, widening, final, advice)
            verdicts.update(zip(part, judged, strict=True))
    return [verdicts[place] for place in range(len(samples))]


def _settling(result: Comparison, total: float, *, most: int | None, minutes_per_block: float | None) -> power.Settling | None:
    """What would settle a comparison that takes `total` blocks; see `power.settled_by`."""
    return power.settled_by(total, result.mean_log, result.margin_log, result.blocks, minutes_per_block, most)


def _judge_stack(
    samples: list[PairedSample], margins: list[float], spending: Spending, widening: float, final: bool, advice: Advice
) -> list[Verdict]:
    """Verdicts on samples of the same n, better and scale."""
    x = np.stack([sample.x for sample in samples])
    margin = np.array([margin_on_scale(each, samples[0].scale) for each in margins])
    looks = spending.taken(x.shape[1], final)
    decided = decide_looks(x, looks, margin, widening)
    verdicts: list[Verdict | None] = [None] * len(samples)
    for number in np.unique(decided.look):
        rows = np.flatnonzero(decided.look == number)
        shown = looks[number] if number >= 0 else _unpaid(spending, x.shape[1])
        part = x[rows, : shown.blocks]
        comparisons = compare_stack(
            [samples[i] for i in rows], part, shown, looks[: number + 1], margin[rows], [margins[i] for i in rows], widening
        )
        totals = _totals(comparisons, shown, widening)
        for row, comparison, total in zip(rows, comparisons, totals, strict=True):
            outcome = CODED[decided.code[row]]
            withheld = int(samples[row].blocks[decided.withheld[row]]) if decided.withheld[row] >= 0 else None
            verdicts[row] = _explained(outcome, comparison, total, number >= 0, withheld, advice, final)
    return [verdict for verdict in verdicts if verdict is not None]


def _totals(comparisons: Sequence[Comparison], look: Look, widening: float) -> list[float]:
    """The total of blocks that would settle each comparison at this look's level."""
    mean, sd, margin = (np.array([getattr(each, name) for each in comparisons]) for name in ("mean_log", "sd_log", "margin_log"))
    totals: list[float] = power.settling_blocks(mean, sd, margin, look, widening).tolist()
    return totals


def _unpaid(spending: Spending, n: int) -> Look:
    """The look whose intervals are shown where no look was taken: the first planned one, at the existing n blocks."""
    return replace(spending.looks[0], blocks=n)


def _bare(outcome: Outcome, reason: str) -> Verdict:
    return Verdict(outcome=outcome, comparison=None, reason=reason, warnings=(), exact=False, settling=None)


def _too_few(n: int) -> str:
    return f"{number_format.count(n, 'whole block')}, and a timed metric is not judged on fewer than {LEAST_BLOCKS}"


def _broken(sample: PairedSample, final: bool) -> str:
    """Why this sample can't be judged, or an empty string. A run that may go on is not abandoned for its first invalid blocks."""
    if sample.broken:
        loss = sample.broken[0]
        others = len(sample.broken) - 1
        more = f"; and {number_format.count(others, 'other block')} like it" if others else ""
        arm = f", arm {loss.arm}" if loss.arm else ""
        return f"block {loss.block}{arm} is {_STATUS_WORDS[loss.status]}: {loss.reason or 'no reason given'}{more}"
    invalid = sample.count(Status.INVALID)
    if invalid > MOST_INVALID * (invalid + sample.n) and (final or invalid >= LEAST_BLOCKS):
        why = _why_invalid([each for each in sample.lost if each.status is Status.INVALID])
        return f"{invalid} of {invalid + sample.n} blocks are invalid {why}"
    return "no block is whole: nothing was compared" if final and not sample.n else ""


def _why_invalid(lost: Sequence[Lost]) -> str:
    """The first reason, and what it says of the machine; an arm that alone ends from outside, every time, may do so by itself."""
    first = f"(the first: {lost[0].reason})"
    if not all(each.reason.startswith(INTERRUPTED) for each in lost):
        return f"{first}: this machine is too noisy to measure on"
    arms = {each.arm for each in lost}
    alone = len(arms) == 1 and lost[0].arm
    return f"{first}: each time arm {lost[0].arm} alone, which may end itself, or need too much memory" if alone else first


_STATUS_WORDS = {
    Status.FAILED: "failed",
    Status.UNATTESTED: "unattested",
    Status.UNEQUAL: "not comparable",
    Status.ABSENT: "without a usable value",
}


def _explained(
    outcome: Outcome, result: Comparison, total: float, taken: bool, withheld: int | None, advice: Advice, final: bool
) -> Verdict:
    """The outcome with its reason, its warnings and, for an inconclusive one, what would settle it."""
    settling = None
    if outcome is Outcome.INCONCLUSIVE and final:
        settling = advice(result, total)
    if not taken:
        reason = _too_few(result.blocks) if result.blocks < LEAST_BLOCKS else f"{result.blocks} blocks: the next look is not reached yet"
    elif outcome is Outcome.INCONCLUSIVE:
        reason = _inconclusive(result, withheld, settling, final)
    else:
        reason = _decided(outcome, result)
    return Verdict(outcome=outcome, comparison=result, reason=reason, warnings=_warnings(result, outcome), exact=False, settling=settling)


def _decided(outcome: Outcome, result: Comparison) -> str:
    """Why a metric is regressed, improved or equivalent."""
    after, margin = f"after {number_format.count(result.blocks, 'block')}", number_format.size(result.margin, result.scale)
    if outcome is Outcome.EQUIVALENT:
        inside = number_format.span(result.equivalence_interval, result.scale)
        return (
            f"the {number_format.level(result.equivalence_level)} interval {inside} lies inside the margin of {margin} either way, {after}"
        )
    worse = "worse" if outcome is Outcome.REGRESSED else "better"
    interval = f"the {number_format.level(result.level)} interval {number_format.span(result.interval, result.scale)} does not reach 0"
    confident = BEYOND if beyond_margin(result) else ""
    return (
        f"{number_format.change(result.effect, result.scale)} is {worse} by at least the margin of {margin}, and {interval}, "
        f"{after}{confident}"
    )


def beyond_margin(result: Comparison) -> bool:
    """Whether the whole interval lies beyond the margin on one side.

    Source: none, a reading of the interval.
    """
    half = abs(_on_x(result, result.interval[1]) - _on_x(result, result.interval[0])) / 2
    return abs(result.mean_log) - half > result.margin_log


def _on_x(result: Comparison, effect: float) -> float:
    return float(np.log1p(effect)) if result.scale == "log" else effect


def _inconclusive(result: Comparison, withheld: int | None, settling: power.Settling | None, final: bool) -> str:
    """Why nothing was decided, and what would decide it."""
    effect = number_format.change(result.effect, result.scale)
    if withheld is not None:
        robust = f"the robust estimate {number_format.change(result.companion, result.scale)} does not confirm the mean {effect}"
        return f"block {withheld} lies far from the others, and {robust}: look at that block"
    if abs(result.mean_log) >= result.margin_log:
        interval = f"the {number_format.level(result.level)} interval {number_format.span(result.interval, result.scale)}"
        why = f"{effect} would matter, but {interval} reaches over 0: there may be no change at all"
    else:
        interval = (
            f"the {number_format.level(result.equivalence_level)} interval {number_format.span(result.equivalence_interval, result.scale)}"
        )
        why = f"{effect} is inside the margin of {number_format.size(result.margin, result.scale)}, but {interval} is not"
    if not final:
        return f"{why} yet, after {number_format.count(result.blocks, 'block')}"
    if settling is None:
        return f"{why}; more than {power.MOST_BLOCKS} blocks would be needed: too near the margin, or too much noise for it"
    minutes = f", {number_format.duration(settling.minutes)}" if settling.minutes is not None else ""
    more = f"about {number_format.count(settling.more, 'more block')} ({settling.total} in all{minutes})"
    if settling.from_start:
        more = f"about {settling.total} blocks, all measured again (--blocks {settling.total} into another results folder{minutes}),"
    return f"{why}; {more} would settle it, as {settling.as_} if this estimate holds"


def _warnings(result: Comparison, outcome: Outcome) -> tuple[str, ...]:
    """The warnings beside the verdict, each with its number."""
    warnings = []
    if result.outlier is not None and result.blocks >= LEAST_BLOCKS:
        warnings.append(f"block {result.outlier.block} is an outlier, {number_format.far(result.outlier.residual)}; it was kept")
    if result.sd_log == 0 and result.blocks > 1:
        warnings.append(
            "every block gave the same ratio: a timed metric never does; check the clock, or declare it an exact count (witness)"
        )
    invalid = sum(loss.status is Status.INVALID for loss in result.lost)
    if invalid:
        reasons = sorted({loss.reason for loss in result.lost if loss.status is Status.INVALID})
        warnings.append(f"{number_format.count(invalid, 'block')} excluded by the rules of invalidation: {'; '.join(reasons)}")
    if outcome is Outcome.INCONCLUSIVE and result.mde is not None and result.mde > 2 * result.margin:
        seen, margin = number_format.size(result.mde, result.scale), number_format.size(result.margin, result.scale)
        warnings.append(f"these blocks could only have detected {seen} or more, not the margin of {margin}")
    return tuple(warnings)


def should_stop(verdicts: Sequence[Verdict], blocks: int, spending: Spending, counted: int = 0) -> str:
    """Why a scenario stops after `blocks` whole blocks, given the verdicts on its primary metrics so far (`final=False`), or "".

    `counted` are the blocks whose exact counts hold, which are more where a busy machine spoilt the times.

    It stops when any primary is regressed or all are decided, not before the first look unless nothing can be tested any more,
    and at the last look; a spent time budget is the runner's to notice.
    Source: this project's rule, simulated in `docs/validation.md`.
    """
    exact = [verdict for verdict in verdicts if verdict.exact]
    if counted >= spending.looks[0].blocks and any(verdict.outcome is Outcome.REGRESSED for verdict in exact):
        return "a primary metric is regressed"
    blocks = max(blocks, counted) if len(exact) == len(verdicts) else blocks
    testable = any(verdict.outcome is not Outcome.UNTESTABLE for verdict in verdicts)
    if testable and blocks < spending.looks[0].blocks:
        return ""  # an exact count is clear after one block, but one block can't show that it is exact
    if any(verdict.outcome is Outcome.REGRESSED for verdict in verdicts):
        return "a primary metric is regressed"
    if verdicts and all(verdict.outcome is not Outcome.INCONCLUSIVE for verdict in verdicts):
        return "all primary metrics are decided"
    if blocks >= spending.blocks:
        return f"the last look, at {spending.blocks} blocks, is taken"
    return ""


__all__ = ["DEFAULT_MARGIN", "Outcome", "Verdict", "beyond_margin", "judge", "judge_all", "should_stop"]
