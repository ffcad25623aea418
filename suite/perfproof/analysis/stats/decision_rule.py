"""The rule: five outcomes from a mean, two intervals and a margin, and the looks in their order. Over arrays of many metrics at once.

Significance and the smallest change that matters are two thresholds, never one. A metric that a look decides stays decided, whatever later
blocks show. From 10 blocks on, an outlier (an externally studentised residual beyond 4) makes the rule also consult the robust companion;
where that disagrees, the look decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfproof.analysis.stats import intervals
from perfproof.analysis.stats.alpha_spending import Look
from perfproof.analysis.stats.samples import Floats
from perfproof.model.verdicts.judged import Outcome

Codes = NDArray[np.int8]

CODED = (Outcome.INCONCLUSIVE, Outcome.REGRESSED, Outcome.IMPROVED, Outcome.EQUIVALENT, Outcome.UNTESTABLE)
"""The outcomes by their codes, which the arrays hold."""
INCONCLUSIVE, REGRESSED, IMPROVED, EQUIVALENT, UNTESTABLE = range(5)
OUTLIER = 4.0
"""The externally studentised residual from which a block is an outlier."""
OUTLIER_BLOCKS = 10
"""Fewer blocks can't identify an outlier; there Student's interval widens by itself."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decided:
    """For m metrics: the outcome's code, the look that decided it (or the last taken; -1: none), and the column of the outlier for
    which the last look withheld an outcome (-1: none). Arrays of shape (m,)."""

    code: Codes
    look: NDArray[np.int64]
    withheld: NDArray[np.int64]


def decide(mean: Floats, half: Floats, narrow: Floats, margin: Floats) -> Codes:
    """The decision of one look; `half` and `narrow` are half the widths of the change and of the equivalence interval.

    All are on the scale of x (> 0 is worse), shape (m,), `margin` > 0. Source: Student's interval for a change that is also at
    least the margin; two one-sided tests for equivalence (Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15, 1987).
    """
    regressed = (mean - half > 0) & (mean >= margin)
    improved = (mean + half < 0) & (mean <= -margin)
    equivalent = (mean - narrow > -margin) & (mean + narrow < margin)
    codes: Codes = np.select([regressed, improved, equivalent], [REGRESSED, IMPROVED, EQUIVALENT], INCONCLUSIVE).astype(np.int8)
    return codes


def decide_look(x: Floats, look: Look, margin: Floats, widening: float | Floats = 1.0) -> tuple[Codes, NDArray[np.int64]]:
    """The codes of one look at x, shape (m, look.blocks), and the columns of outliers that withhold an outcome (-1: none).

    Source: this project's rule, simulated in `docs/validation.md`.
    """
    found = intervals.student(x)
    codes = decide(found.mean, found.half(look.level, widening), found.half(look.equivalence_level, widening), margin)
    withheld = np.full(codes.size, -1, dtype=np.int64)
    decided_rows = np.flatnonzero(codes != INCONCLUSIVE) if x.shape[1] >= OUTLIER_BLOCKS else np.empty(0, dtype=np.int64)
    if decided_rows.size:
        residuals = np.abs(intervals.studentised(x[decided_rows]))
        worst = residuals.argmax(axis=1)
        outlying = np.take_along_axis(residuals, worst[:, None], axis=1)[:, 0] > OUTLIER
        rows = decided_rows[outlying]
        if rows.size:
            against = contradicted(x[rows], codes[rows], margin[rows])
            withheld[rows[against]] = worst[outlying][against]
            codes[rows[against]] = INCONCLUSIVE
    return codes, withheld


def contradicted(x: Floats, codes: Codes, margin: Floats) -> NDArray[np.bool_]:
    """Where the companion disagrees: its 95 % interval does not confirm the sign of a change, or its pseudo-median lies outside the margin
    of an equivalence. Shapes (m, n), (m,), (m,).

    Source: this project's rule; the companion is Hodges & Lehmann's.
    """
    robust = intervals.companion(x)
    denied = [robust.low <= intervals.ROUNDING, robust.high >= -intervals.ROUNDING, np.abs(robust.middle) >= margin]
    against: NDArray[np.bool_] = np.select([codes == REGRESSED, codes == IMPROVED, codes == EQUIVALENT], denied, False).astype(bool)
    return against


def decide_looks(x: Floats, looks: Sequence[Look], margin: Floats, widening: float | Floats = 1.0) -> Decided:
    """The looks in their order, at x of shape (m, n); a metric that a look decides stays decided. `widening` may have shape (m,).

    Source: this project's rule, simulated in `docs/validation.md`.
    """
    wider = np.broadcast_to(np.asarray(widening, dtype=float), x.shape[:1])
    codes = np.zeros(x.shape[0], dtype=np.int8)
    at = np.full(x.shape[0], len(looks) - 1, dtype=np.int64)
    withheld = np.full(x.shape[0], -1, dtype=np.int64)
    for number, look in enumerate(looks):
        waiting = np.flatnonzero(codes == INCONCLUSIVE)
        if not waiting.size:
            break
        codes[waiting], withheld[waiting] = decide_look(x[waiting, : look.blocks], look, margin[waiting], wider[waiting])
        at[waiting[codes[waiting] != INCONCLUSIVE]] = number
    return Decided(code=codes, look=at, withheld=withheld)
