"""Rates of error: zero is an ordinary value, so they are compared by their difference, not their ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from statsmodels.stats.proportion import confint_proportions_2indep

from suite.analysis import words
from suite.analysis.comparison import margin_on_scale
from suite.analysis.decision import CODED, decide
from suite.analysis.samples import pair_arrays
from suite.analysis.spending import LEAST_BLOCKS, Spending
from suite.analysis.verdict import Verdict, judge


def judge_rates(
    baseline: Sequence[tuple[int, int]],
    candidate: Sequence[tuple[int, int]],
    spending: Spending,
    *,
    metric: str = "error rate",
    margin: float,
) -> Verdict:
    """The verdict on a rate of error from (errors, requests) of each trial, in the order of their blocks; `margin` is a difference.

    The paired differences go through the rule of every timed metric. Student's interval is blind where no block differs, so the
    interval is never taken narrower than Newcombe's for the pooled counts. Source: Newcombe, Statistics in Medicine 17, 1998;
    statsmodels `confint_proportions_2indep`. Raises ValueError where a trial has no requests or more errors than requests.
    """
    if any(not 0 <= errors <= total or total < 1 for errors, total in (*baseline, *candidate)):
        raise ValueError("each trial needs at least one request, and no more errors than requests")
    first, second = ([errors / total for errors, total in arm] for arm in (baseline, candidate))
    sample = pair_arrays(first, second, metric=metric, unit="ratio", better="lower", scale="difference")
    verdict = judge(sample, spending, margin=margin)
    found = verdict.comparison
    if found is None or found.blocks < LEAST_BLOCKS:
        return verdict
    n = found.blocks
    change, equal = (
        _no_narrower(shown, baseline[:n], candidate[:n], 1 - level)
        for shown, level in ((found.interval, found.level), (found.equivalence_interval, found.equivalence_level))
    )
    code = decide_within(found.effect, change, equal, margin_on_scale(margin, "difference"))
    widened = replace(found, interval=change, equivalence_interval=equal)
    if CODED[code] is verdict.outcome:
        return replace(verdict, comparison=widened)
    possible = words.span(change, "difference")
    reason = f"{words.change(found.effect, 'difference')}, but so few errors among so many requests leave {possible} possible"
    return replace(verdict, outcome=CODED[code], comparison=widened, reason=reason)


def decide_within(effect: float, change: tuple[float, float], equal: tuple[float, float], margin: float) -> int:
    """The code of `decision.decide` for intervals that need not be symmetric around the effect.

    Source: `decision.decide`.
    """
    half = effect - change[0] if effect > 0 else change[1] - effect
    narrow = max(effect - equal[0], equal[1] - effect)
    return int(decide(np.array([effect]), np.array([half]), np.array([narrow]), np.array([margin]))[0])


def _no_narrower(
    interval: tuple[float, float], baseline: Sequence[tuple[int, int]], candidate: Sequence[tuple[int, int]], error: float
) -> tuple[float, float]:
    """The hull of an interval and Newcombe's for the pooled counts."""
    pooled = [sum(values) for arm in (candidate, baseline) for values in zip(*arm, strict=True)]
    low, high = confint_proportions_2indep(*pooled, method="newcomb", compare="diff", alpha=error)
    return min(interval[0], float(low)), max(interval[1], float(high))
