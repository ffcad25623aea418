"""The rules from a comparison of answers to an outcome with its reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from perfproof.analysis.equality.answer_differences import Answers
from perfproof.analysis.equality.part_comparison import (
    PartComparison,
    chance_beyond,
    chance_parted,
    difference_words,
    floor_words,
    identical_words,
    said_words,
)
from perfproof.analysis.stats import number_format
from perfproof.analysis.stats.samples import Floats
from perfproof.model.verdicts.judged import Outcome

ERROR = 0.01
"""One-sided error of *regressed* over all parts and candidates, where the baseline does not repeat itself."""
EQUIVALENCE_ERROR = 0.05
RAREST = 1_000_000_000
"""Smaller probabilities are shown as less than this."""
MOST_NATS = 700.0
"""About the largest number whose exponential is a float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """The verdict on one part. `effect` is the relative change of a text's perplexity, with its interval; None for prompts."""

    outcome: Outcome
    reason: str
    effect: float | None
    interval: tuple[float, float] | None
    level: float | None


def ruled(outcome: Outcome, reason: str) -> Ruled:
    """The verdict on prompts, or on a part that could not be compared. Source: none, bookkeeping."""
    return Ruled(outcome=outcome, reason=reason, effect=None, interval=None, level=None)


def rule(comparison: PartComparison, error: float = ERROR) -> Ruled:
    """The verdict on prompts; see `equality_verdict`.

    `error` is the one-sided error of *regressed* where the baseline does not repeat itself; its two tests share it.
    Source: `chance_beyond`, `chance_parted`.
    """
    if comparison.identical:
        return ruled(Outcome.EQUIVALENT, identical_words(comparison))
    words = f"{difference_words(comparison)}; {floor_words(comparison)}"
    if comparison.deterministic:
        return _rule_exactly(comparison, words)
    if comparison.says_otherwise:
        return ruled(Outcome.REGRESSED, words)
    chance = min(chance_beyond(comparison, len(comparison.beyond)), chance_parted(comparison, len(comparison.parted)))
    if chance <= error / 2:
        return ruled(Outcome.REGRESSED, f"{words}: chance would do that {_once_in(chance)}")
    if comparison.beyond or len(comparison.parted) * len(comparison.floor) > comparison.floor_parted:
        more = "more prompts, or more runs of the baseline ('again'), would settle it"
        return ruled(Outcome.INCONCLUSIVE, f"{words}: it may be chance; {more}")
    return ruled(Outcome.EQUIVALENT, f"{words}: the candidate is within that")


def _once_in(chance: float) -> str:
    """A small probability in words; with thousands of prompts it may be too small for a float."""
    return f"once in {1 / chance:,.0f}" if chance * RAREST >= 1 else f"less than once in {RAREST:,}"


def _rule_exactly(comparison: PartComparison, words: str) -> Ruled:
    """The verdict where the baseline repeated itself bit-identically."""
    if comparison.beyond or comparison.says_otherwise:
        return ruled(Outcome.REGRESSED, words)
    if comparison.parted:
        return ruled(Outcome.INCONCLUSIVE, f"{words}: a tie and the tolerance of {comparison.tolerance:g} explain it")
    return ruled(Outcome.EQUIVALENT, f"{words}: within the tolerance of {comparison.tolerance:g}")


def rule_text(
    part: PartComparison, baseline: Answers, candidate: Answers, again: Sequence[Answers], *, margin: float, error: float
) -> Ruled:
    """The verdict on a text: the relative change of its perplexity, from logprobs paired by token, clustered by paragraph.

    *Regressed* if the interval at one-sided `error` excludes zero, the change is at least the margin, and the baseline did not change as
    much by itself; *improved* likewise; *equivalent* if the interval at .05 lies inside the margin.
    *Regressed*, too, if something else is said of the same tokens.
    Source: Student's interval of paired differences; clustered as Miller, arXiv 2411.00640, 2024.
    """
    if part.identical:
        return Ruled(outcome=Outcome.EQUIVALENT, reason=identical_words(part), effect=0.0, interval=(0.0, 0.0), level=1.0)
    worse, most = _worse(baseline, candidate), math.log1p(margin)
    floor = max(abs(_mean(_worse(baseline, each))) for each in again)
    mean, half = _mean(worse), _half(worse, error)
    if part.says_otherwise:
        outcome = Outcome.REGRESSED
    elif abs(mean) > half and abs(mean) >= most and abs(mean) > floor:
        outcome = Outcome.REGRESSED if mean > 0 else Outcome.IMPROVED
    else:
        outcome = Outcome.EQUIVALENT if abs(mean) + _half(worse, EQUIVALENCE_ERROR) < most else Outcome.INCONCLUSIVE
    span = f"{-mean - half:+.2g} to {-mean + half:+.2g}"
    said = f"{said_words(part)}; " if part.says_otherwise else ""
    words = f"{said}the mean logprob of {number_format.count(part.tokens, 'token')} of text changed by {-mean:+.2g} nat ({span})"
    return Ruled(
        outcome=outcome,
        reason=f"{words}, that of one token by up to {part.largest:.2g}; {floor_words(part)}",
        effect=_change(mean),
        interval=(_change(mean - half), _change(mean + half)),
        level=1 - 2 * error,
    )


def _worse(baseline: Answers, other: Answers) -> list[Floats]:
    """By how much less likely each token became (nats), one row per paragraph."""
    return [ours - theirs for ours, theirs in zip(baseline.logprobs, other.logprobs, strict=True)]


def _change(nats: float) -> float:
    """The relative change of a perplexity whose tokens became less likely by `nats` on average."""
    return math.expm1(min(nats, MOST_NATS))


def _mean(rows: Sequence[Floats]) -> float:
    return float(np.concatenate(rows).mean())


def _half(rows: Sequence[Floats], error: float) -> float:
    """Half the width of the interval of the mean: by token, but no narrower than by paragraph, whose tokens may move together."""
    every = np.concatenate(rows)
    plain = float(scipy.special.stdtrit(every.size - 1, 1 - error)) * float(every.std(ddof=1)) / math.sqrt(every.size)
    if len(rows) < 2:
        return plain
    sums = np.array([(row - every.mean()).sum() for row in rows])
    spread = math.sqrt(len(rows) / (len(rows) - 1) * float((sums**2).sum())) / every.size
    return max(plain, float(scipy.special.stdtrit(len(rows) - 1, 1 - error)) * spread)
