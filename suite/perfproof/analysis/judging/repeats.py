"""Whether a repeat of a comparison contradicts it: the same question, asked again with other trials."""

from __future__ import annotations

import math

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
