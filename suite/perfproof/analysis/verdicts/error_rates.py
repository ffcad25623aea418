"""Error rates: zero is an ordinary value, so they are compared by their difference, not their ratio."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import scipy

from perfproof.analysis.stats import number_format
from perfproof.analysis.stats.alpha_spending import LEAST_BLOCKS, Spending, one_look
from perfproof.analysis.stats.comparison import margin_on_scale
from perfproof.analysis.stats.decision_rule import CODED, decide
from perfproof.analysis.stats.samples import pair_arrays
from perfproof.analysis.verdicts.verdict import Verdict, judge
from perfproof.model.verdicts.judged import Judged


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
    interval is never taken narrower than Newcombe's for the pooled counts. Source: Newcombe, Statistics in Medicine 17, 1998.
    Raises ValueError where a trial has no requests or more errors than requests.
    """
    if any(not 0 <= errors <= total or total < 1 for errors, total in (*baseline, *candidate)):
        raise ValueError("each trial needs at least one request, and no more errors than requests")
    first, second = ([errors / total for errors, total in arm] for arm in (baseline, candidate))
    sample = pair_arrays(first, second, metric=metric, unit="ratio", better="lower", scale="difference")
    verdict = judge(sample, spending, margin=margin)
    compared = verdict.comparison
    if compared is None or compared.blocks < LEAST_BLOCKS:
        return verdict
    n = compared.blocks
    change, equal = (
        _no_narrower(shown, baseline[:n], candidate[:n], 1 - level)
        for shown, level in ((compared.interval, compared.level), (compared.equivalence_interval, compared.equivalence_level))
    )
    code = decide_within(compared.effect, change, equal, margin_on_scale(margin, "difference"))
    widened = replace(compared, interval=change, equivalence_interval=equal)
    if CODED[code] is verdict.outcome:
        return replace(verdict, comparison=widened)
    possible = number_format.span(change, "difference")
    reason = f"{number_format.change(compared.effect, 'difference')}, but so few errors among so many requests leave {possible} possible"
    return replace(verdict, outcome=CODED[code], comparison=widened, reason=reason)


def judge_rate_table(
    rows: Sequence[tuple[str, str, int, int]], *, scenario: str, name: str, baseline: str, margin: float, metrics: int = 1
) -> tuple[list[Judged], list[list[str]]]:
    """Judges rows of (block, arm, errors, requests), all blocks as one look.

    `name` is the metric's, one of so many `metrics` that share the error.

    Returns a line for each other arm, whose effect and interval are differences of rates, and the reasoning of each in sentences. The table
    must be whole (`importers.trials_csv`). Source: `judge_rates`.
    """
    counts: dict[str, list[tuple[int, int]]] = {arm: [] for _, arm, _, _ in rows}
    places = {block: place for place, block in enumerate(dict.fromkeys(block for block, *_ in rows))}
    for _, arm, errors, requests in sorted(rows, key=lambda row: places[row[0]]):
        counts[arm].append((errors, requests))
    candidates = [arm for arm in counts if arm != baseline]
    paid = one_look(len(places), 1, len(candidates) * metrics)
    judged = [
        _line(scenario, name, baseline, arm, counts, margin, judge_rates(counts[baseline], counts[arm], paid, margin=margin))
        for arm in candidates
    ]
    return judged, [_sentences(line, counts) for line in judged]


def _line(
    scenario: str,
    name: str,
    baseline: str,
    candidate: str,
    counts: Mapping[str, Sequence[tuple[int, int]]],
    margin: float,
    result: Verdict,
) -> Judged:
    compared = result.comparison
    return Judged(
        scenario=scenario,
        metric=name,
        unit="errors per request",
        better="lower",
        kind="share",
        primary=True,
        baseline=baseline,
        candidate=candidate,
        baseline_value=_pooled(counts[baseline]),
        candidate_value=_pooled(counts[candidate]),
        blocks=compared.blocks if compared else len(counts[baseline]),
        effect=compared.effect if compared else None,
        interval=result.interval,
        level=result.level,
        margin=margin,
        mde=None,
        verdict=result.outcome,
        reason=result.reason,
        warnings=result.warnings,
        q=None,
    )


def _pooled(counts: Sequence[tuple[int, int]]) -> float:
    return sum(errors for errors, _ in counts) / sum(requests for _, requests in counts)


def _sentences(line: Judged, counts: Mapping[str, Sequence[tuple[int, int]]]) -> list[str]:
    """The reasoning, each sentence with its number."""
    sides = (f"{arm} {sum(e for e, _ in counts[arm])} of {sum(r for _, r in counts[arm])}" for arm in (line.baseline, line.candidate))
    sentences = [f"Errors of requests, over {number_format.count(line.blocks, 'block')}: {', '.join(sides)}."]
    if line.effect is not None and line.interval is not None and line.level is not None and line.margin is not None:
        sentences.append(
            f"The mean difference over blocks is {number_format.change(line.effect, 'difference')}; its "
            f"{number_format.level(line.level)} interval, never "
            f"narrower than Newcombe's for the pooled counts, is {number_format.span(line.interval, 'difference')}; "
            f"the margin is {number_format.size(line.margin, 'difference')}."
        )
    return [*sentences, f"{line.candidate} is {line.verdict}: {line.reason}."]


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
    (after, requests), (before, of_baseline) = (map(sum, zip(*arm, strict=True)) for arm in (candidate, baseline))
    low, high = newcombe(after, requests, before, of_baseline, error)
    return min(interval[0], low), max(interval[1], high)


def newcombe(count: int, total: int, other: int, of_other: int, error: float) -> tuple[float, float]:
    """The interval of the difference of two shares, count/total - other/of_other, from the two shares' own intervals.

    Source: Newcombe, Statistics in Medicine 17, 1998, method 10; statsmodels' `confint_proportions_2indep` gives the same, but its import
    takes longer than an answer may take.
    """
    first, second = count / total, other / of_other
    (low, high), (other_low, other_high) = wilson(count, total, error), wilson(other, of_other, error)
    difference = first - second
    return difference - math.hypot(first - low, other_high - second), difference + math.hypot(second - other_low, high - first)


def wilson(count: int, total: int, error: float) -> tuple[float, float]:
    """The score interval of a share. Source: Wilson, JASA 22, 1927."""
    z, share = float(scipy.special.ndtri(1 - error / 2)), count / total
    middle = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = z * math.sqrt(share * (1 - share) / total + z**2 / (4 * total**2)) / (1 + z**2 / total)
    return max(0.0, middle - half), min(1.0, middle + half)
