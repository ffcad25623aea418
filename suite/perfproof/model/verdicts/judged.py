"""The noun that everybody reads who shows or acts on a verdict: one metric of one candidate, judged."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from perfproof.model.scenarios.metrics import EXACT, Better, Kind


class Outcome(StrEnum):
    """What a verdict says. *equivalent* and *inconclusive* are never one; *untestable* is never a regression and never a pass.

    Counts of the host's work alone are *less* (less Python work, which is no improvement by itself) or *identical* to the last one.
    """

    INCONCLUSIVE = "inconclusive"
    REGRESSED = "regressed"
    IMPROVED = "improved"
    EQUIVALENT = "equivalent"
    UNTESTABLE = "untestable"
    LESS = "less"
    IDENTICAL = "identical"


EXPLORATORY = "exploratory"
"""What a metric is called that has no verdict, since nobody declared it primary."""

OUTCOMES = (
    Outcome.REGRESSED,
    Outcome.UNTESTABLE,
    Outcome.INCONCLUSIVE,
    Outcome.IMPROVED,
    Outcome.LESS,
    Outcome.EQUIVALENT,
    Outcome.IDENTICAL,
)
"""The outcomes, the one that a reader must not miss first."""


SUGGESTS = "suggests only, as launches were shared"
"""How the reason of a verdict begins that both arms' one and only launch may have decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncounted:
    """What was measured in blocks that a busy machine spoilt: shown, and part of no verdict. The fields are as in `Judged`."""

    baseline_value: float
    candidate_value: float
    blocks: int
    effect: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One metric of one candidate against the baseline: a line of the verdict table, an entry of `perfproof compare --json`.

    `effect`, `interval` and `mde` are relative changes of the candidate as fractions (0.31 is +31 %), for shares differences (0.01 is one
    point); None where there is nothing to say; `level` is the interval's confidence (0.995); `margin` is a fraction, None for a count.
    `baseline_value` and `candidate_value` are in the metric's base unit, geometric means over the blocks counted, so that
    their ratio is the effect. `verdict` is None
    for a metric that was not declared primary: it is explored, never judged. `q` is such a metric's q-value.
    """

    scenario: str
    metric: str
    unit: str
    better: Better
    kind: Kind
    primary: bool
    baseline: str
    candidate: str
    baseline_value: float | None
    candidate_value: float | None
    blocks: int
    effect: float | None
    interval: tuple[float, float] | None
    level: float | None
    margin: float | None
    mde: float | None
    verdict: Outcome | None
    reason: str
    warnings: tuple[str, ...]
    q: float | None
    uncounted: Uncounted | None = None
    """What excluded blocks showed, where there are too few others."""

    @property
    def suggests(self) -> bool:
        """Whether the verdict is no more than a suggestion, because launch-to-launch variance was not sampled."""
        return self.reason.startswith(SUGGESTS)

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.interval[0] if self.interval else None

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self.interval[1] if self.interval else None

    @property
    def in_points(self) -> bool:
        """Whether effect, interval, margin and detectable change are differences, to be shown in percentage points."""
        return self.kind == "share"

    @property
    def exact(self) -> bool:
        """Whether this was counted, not measured: it has no noise."""
        return self.kind in EXACT

    @property
    def of_host(self) -> bool:
        """Whether this counts what the host does: it has a margin, and decides only where its scenario or policy says so."""
        return self.kind == "count"
