"""What a verdict on two builds means for a nightly's red: confirmed, a lucky baseline, a slow host, or not to be told yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

import scipy

from perfproof.analysis.stats import number_format
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE
from perfproof.model.scenarios.metrics import Better
from perfproof.model.verdicts.judged import Judged, Outcome

Word = Literal["confirmed", "lucky baseline", "slow host", "not confirmed", "can't tell yet", "untestable"]
LEVEL = 0.99
"""The confidence with which one more run of a build would lie where its runs here lay."""
LEAST_RUNS = 4
"""The runs of a build that a prediction needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer in a word, in a sentence, and as an exit code."""

    word: Word
    sentence: str
    exit_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The numbers of the nightly, in the metric's base unit: the one of the earlier build, and, where it is known, the red one."""

    good: float | None = None
    bad: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One build's runs here: their typical value, and where one more would lie."""

    typical: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Seen | None:
        """None for fewer than four runs. Source: Student's prediction interval, on the log scale."""
        if len(values) < LEAST_RUNS or min(values) <= 0:
            return None
        logs = [math.log(value) for value in values]
        n, mean = len(logs), fmean(logs)
        half = float(scipy.special.stdtrit(n - 1, (1 + LEVEL) / 2)) * stdev(logs) * math.sqrt(1 + 1 / n)
        return cls(typical=math.exp(mean), low=math.exp(mean - half), high=math.exp(mean + half))

    def too_good(self, claim: float, better: Better) -> bool:
        """Whether a claimed number is better than a run of this build would be."""
        return claim > self.high if better == "higher" else claim < self.low

    def too_bad(self, claim: float, better: Better) -> bool:
        """Whether a claimed number is worse than a run of this build would be."""
        return claim < self.low if better == "higher" else claim > self.high


def answer(row: Judged, before: Sequence[float], after: Sequence[float], claims: Claims, *, more: int | None) -> Answer:
    """The answer for the metric that decides. `before` and `after` are the values of each build's valid trials, `more` the blocks that
    would settle it, None where no number would."""
    what = f"{row.metric.replace('_', ' ')} {_change(row)} from {row.baseline} to {row.candidate}"
    if row.verdict is Outcome.UNTESTABLE or row.verdict is None:
        return Answer(word="untestable", sentence=f"untestable: {row.reason}", exit_code=EXIT_UNTESTABLE)
    if row.verdict is Outcome.REGRESSED:
        return Answer(word="confirmed", sentence=f"confirmed: {what}{_claims_told(row, before, claims)}", exit_code=EXIT_REGRESSED)
    if row.verdict is Outcome.INCONCLUSIVE:
        needs = f"needs about {number_format.count(more, 'more block')}" if more else "no number of blocks would do with this noise"
        return Answer(word="can't tell yet", sentence=f"can't tell yet, {needs}: {what}; {row.reason}", exit_code=EXIT_INCONCLUSIVE)
    return _not_there(row, what, before, after, claims)


def _not_there(row: Judged, what: str, before: Sequence[float], after: Sequence[float], claims: Claims) -> Answer:
    """The answer where the builds do not differ for the worse: whose number was it that made the red?"""
    old, new = Seen.of(before), Seen.of(after)
    same = "no worse" if row.verdict is Outcome.IMPROVED else "equivalent"
    end = f"the builds are {same} here: {what}"
    if claims.good is None or old is None:
        plain = f"not confirmed: {end}; --claimed NUMBER of the nightly tells whether its baseline was lucky"
        return Answer(word="not confirmed", sentence=plain if claims.good is None else f"not confirmed: {end}", exit_code=EXIT_PASS)
    good_gone = old.too_good(claims.good, row.better)
    bad_gone = claims.bad is not None and new is not None and new.too_bad(claims.bad, row.better)
    both_better = good_gone and claims.bad is not None and new is not None and new.too_good(claims.bad, row.better)
    if both_better:
        why = f"slow host: this one is slower than the nightly's, for both builds; {end}"
        return Answer(word="slow host", sentence=why, exit_code=EXIT_PASS)
    if good_gone:
        again = f"{_value(claims.good, row)} is not seen again: its runs here give {_value(old.typical, row)}, and one more at best"
        best = old.high if row.better == "higher" else old.low
        hint = "" if claims.bad is not None else "; if this host is slower than the nightly's, give the red number too"
        return Answer(word="lucky baseline", sentence=f"lucky baseline: {again} {_value(best, row)}; {end}{hint}", exit_code=EXIT_PASS)
    if bad_gone and claims.bad is not None and new is not None:
        why = (
            f"slow host: the red {_value(claims.bad, row)} is not seen here, where {row.candidate} gives {_value(new.typical, row)}; {end}"
        )
        return Answer(word="slow host", sentence=why, exit_code=EXIT_PASS)
    return Answer(word="not confirmed", sentence=f"not confirmed: {end}; the claimed number is seen again", exit_code=EXIT_PASS)


def _claims_told(row: Judged, before: Sequence[float], claims: Claims) -> str:
    """What a confirmed change means for the claimed number."""
    old = Seen.of(before)
    if claims.good is None or old is None or not old.too_good(claims.good, row.better):
        return ""
    return f"; the nightly's {_value(claims.good, row)} is not seen again, so the change is smaller than it said"


def _change(row: Judged) -> str:
    if row.effect is None:
        return "(no change to tell)"
    interval = f" ({number_format.span(row.interval, 'log')})" if row.interval else ""
    return f"{number_format.percent(row.effect)}{interval} over {number_format.count(row.blocks, 'block')}"


def _value(value: float, row: Judged) -> str:
    return number_format.quantity(value, row.unit)
