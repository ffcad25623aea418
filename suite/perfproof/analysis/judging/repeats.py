"""Whether a repeat of a comparison contradicts it: the same question, asked again with other trials."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

from perfproof.analysis.stats.number_format import percent
from perfproof.model.verdicts.judged import Judged, Outcome

SETTLED = (Outcome.IMPROVED, Outcome.REGRESSED)


def contradicts(row: Judged, other: Judged) -> bool:
    """Whether `other`, the same metric and candidate in a repeat, contradicts the verdict of `row`.

    A change that the verdict calls settled is contradicted by a repeat whose estimate lies outside of its interval and is smaller than the
    margin or goes the other way. *Equivalent* is contradicted by a repeat that settled on a change. An open verdict claims nothing.
    Counts are exact: another verdict contradicts.
    Source: none, a reading of two intervals.
    """
    if row.verdict not in (*SETTLED, Outcome.EQUIVALENT) or other.effect is None or row.effect is None or other.verdict is None:
        return False
    if row.exact or row.verdict == Outcome.EQUIVALENT:
        return other.verdict in (*SETTLED, Outcome.EQUIVALENT) and other.verdict != row.verdict
    outside = row.interval is None or not row.interval[0] <= other.effect <= row.interval[1]
    same_way = math.copysign(1, other.effect) == math.copysign(1, row.effect)
    return outside and (not same_way or abs(other.effect) < (row.margin or 0.0))


def doubted(row: Judged, repeats: Iterable[tuple[str, Sequence[Judged]]]) -> Judged:
    """The row as a decision takes it: *inconclusive* where it would pass and one of the `repeats`, by its place, contradicts it.

    A regression stays one: a lucky repeat does not take it back.
    Source: `contradicts`.
    """
    for where, rows in repeats if row.verdict != Outcome.REGRESSED else ():
        for other in rows:
            if (other.metric, other.candidate) == (row.metric, row.candidate) and contradicts(row, other):
                reason = f"{row.verdict} here, but a repeat ({where}) gave {percent(other.effect or 0.0)}"
                return dataclasses.replace(row, verdict=Outcome.INCONCLUSIVE, reason=reason)
    return row
