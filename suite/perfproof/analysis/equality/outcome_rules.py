"""The rules: what is found becomes an outcome, with its reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from perfproof.analysis.equality.answer_differences import Answers
from perfproof.analysis.equality.part_comparison import Found, chance_beyond, chance_parted, told_differences, told_floor, told_identical
from perfproof.analysis.stats import number_format
from perfproof.analysis.stats.samples import Floats
from perfproof.model.verdicts.judged import Outcome

ERROR = 0.01
"""One-sided error of *regressed* over all parts and candidates, where the baseline is not the same again."""
EQUIVALENCE_ERROR = 0.05
RAREST = 1_000_000_000
"""Of chances that are smaller nobody needs to know how small."""
MOST_NATS = 700.0
"""About the largest number whose exponential is a float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """What is said of one part. `effect` is the relative change of a text's perplexity, with its interval; None for prompts."""

    outcome: Outcome
    reason: str
    effect: float | None
    interval: tuple[float, float] | None
    level: float | None


def ruled(outcome: Outcome, reason: str) -> Ruled:
    """What is said of prompts, or of what could not be compared. Source: none, bookkeeping."""
    return Ruled(outcome=outcome, reason=reason, effect=None, interval=None, level=None)


def rule(found: Found, error: float = ERROR) -> Ruled:
    """The verdict on prompts: see the essay of this package.

    `error` is the one-sided error of *regressed* where the baseline is not the same again; its two tests share it.
    Source: `chance_beyond`, `chance_parted`.
    """
    if found.identical:
        return ruled(Outcome.EQUIVALENT, told_identical(found))
    told = f"{told_differences(found)}; {told_floor(found)}"
    if found.deterministic:
        return _rule_exactly(found, told)
    chance = min(chance_beyond(found, len(found.beyond)), chance_parted(found, len(found.parted)))
    if chance <= error / 2:
        return ruled(Outcome.REGRESSED, f"{told}: by chance {_once_in(chance)}")
    if found.beyond or len(found.parted) * len(found.floor) > found.floor_parted:
        more = "more prompts, or more runs of the baseline ('again'), would tell"
        return ruled(Outcome.INCONCLUSIVE, f"{told}: it may be chance; {more}")
    return ruled(Outcome.EQUIVALENT, f"{told}: no further than that")


def _once_in(chance: float) -> str:
    """A small chance as people say it; of thousands of prompts it may be too small for a float."""
    return f"once in {1 / chance:,.0f}" if chance * RAREST >= 1 else f"less than once in {RAREST:,}"


def _rule_exactly(found: Found, told: str) -> Ruled:
    """Where the baseline gave the very same bits again."""
    if found.beyond:
        return ruled(Outcome.REGRESSED, told)
    if found.parted:
        return ruled(Outcome.INCONCLUSIVE, f"{told}: no more than a tie and the tolerance of {found.tolerance:g} explain")
    return ruled(Outcome.EQUIVALENT, f"{told}: within the tolerance of {found.tolerance:g}")


def rule_text(found: Found, baseline: Answers, candidate: Answers, again: Sequence[Answers], *, margin: float, error: float) -> Ruled:
    """The verdict on a text: the relative change of its perplexity, from logprobs paired by token, clustered by paragraph.

    *Regressed* if the interval at one-sided `error` excludes no change, the change is at least the margin, and the baseline did not move
    as far by itself; *improved* likewise; *equivalent* if the interval at .05 lies inside the margin.
    Source: Student's interval of paired differences; clustered as Miller, arXiv 2411.00640, 2024.
    """
    if found.identical:
        return Ruled(outcome=Outcome.EQUIVALENT, reason=told_identical(found), effect=0.0, interval=(0.0, 0.0), level=1.0)
    worse, most = _worse(baseline, candidate), math.log1p(margin)
    floor = max(abs(_mean(_worse(baseline, each))) for each in again)
    mean, half = _mean(worse), _half(worse, error)
    if abs(mean) > half and abs(mean) >= most and abs(mean) > floor:
        outcome = Outcome.REGRESSED if mean > 0 else Outcome.IMPROVED
    else:
        outcome = Outcome.EQUIVALENT if abs(mean) + _half(worse, EQUIVALENCE_ERROR) < most else Outcome.INCONCLUSIVE
    span = f"{-mean - half:+.2g} to {-mean + half:+.2g}"
    said = f"the mean logprob of {number_format.count(found.tokens, 'token')} of text changed by {-mean:+.2g} nat ({span})"
    return Ruled(
        outcome=outcome,
        reason=f"{said}, that of one token by up to {found.largest:.2g}; {told_floor(found)}",
        effect=_change(mean),
        interval=(_change(mean - half), _change(mean + half)),
        level=1 - 2 * error,
    )


def _worse(baseline: Answers, other: Answers) -> list[Floats]:
    """By how much less likely each token became (nats), a row a paragraph."""
    return [ours - theirs for ours, theirs in zip(baseline.logprobs, other.logprobs, strict=True)]


def _change(nats: float) -> float:
    """The relative change of a perplexity whose tokens became less likely by so many nats, on average."""
    return math.expm1(min(nats, MOST_NATS))


def _mean(rows: Sequence[Floats]) -> float:
    return float(np.concatenate(rows).mean())


def _half(rows: Sequence[Floats], error: float) -> float:
    """Half the width of the interval of the mean: by token, and no narrower than by paragraph, whose tokens may move together."""
    every = np.concatenate(rows)
    plain = float(special.stdtrit(every.size - 1, 1 - error)) * float(every.std(ddof=1)) / math.sqrt(every.size)
    if len(rows) < 2:
        return plain
    sums = np.array([(row - every.mean()).sum() for row in rows])
    spread = math.sqrt(len(rows) / (len(rows) - 1) * float((sums**2).sum())) / every.size
    return max(plain, float(special.stdtrit(len(rows) - 1, 1 - error)) * spread)
