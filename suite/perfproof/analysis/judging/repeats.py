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


Repeat = tuple[str, Sequence[Judged]]
"""Where a repeat lies, and its judged metrics."""


def contradicting(row: Judged, repeats: Iterable[Repeat]) -> tuple[str, Judged] | None:
    """The first repeat that contradicts the row: where it lies, and what it has in the row's place; None where none does.

    Source: `contradicts`.
    """
    for where, rows in repeats:
        other = next((each for each in rows if (each.metric, each.candidate) == (row.metric, row.candidate)), None)
        if other is not None and contradicts(row, other):
            return where, other
    return None


def doubted(row: Judged, repeats: Iterable[Repeat]) -> Judged:
    """The row as a decision takes it: *inconclusive* where it would pass and one of the `repeats` contradicts it.

    A regression stays one: a lucky repeat does not take it back.
    Source: `contradicts`.
    """
    found = None if row.verdict == Outcome.REGRESSED else contradicting(row, repeats)
    if found is None:
        return row
    where, other = found
    reason = f"{row.verdict} here, but a repeat ({where}) gave {percent(other.effect or 0.0)}"
    return dataclasses.replace(row, verdict=Outcome.INCONCLUSIVE, reason=reason)
