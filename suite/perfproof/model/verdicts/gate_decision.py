"""The nouns of a gate: what every rule says of a metric, and what all of them decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from perfproof.model.base.errors import EXIT_PASS
from perfproof.model.verdicts.judged import Outcome

Effect = Literal["fail", "waived", "warn", "pass", "report"]
"""What a ruling does: it fails the gate; it would, but is waived; it passes with a warning; it passes; it has no say."""
EFFECTS: tuple[Effect, ...] = ("fail", "waived", "warn", "pass", "report")
"""The effects, the one that a reader must not miss first."""
Blame = Literal["", "base", "change"]
"""Whose trials failed, where nothing could be tested: the base's own, so that the change is not to blame, or the change's alone."""
ALSO_WORSE = "not surely worse by much"
"""What is asked of a metric that is not primary, where the policy lets one that got worse warn or fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What one metric of one candidate does to the decision.

    `rule` is what was asked of it, in words; `code` the exit code that it stands for where it fails, 0 where it doesn't. `verdict` is None
    for a metric that was explored only.
    """

    scenario: str
    metric: str
    candidate: str
    verdict: Outcome | None
    effect: Effect
    code: int
    rule: str
    reason: str
    blame: Blame

    @property
    def passes(self) -> bool:
        """Whether it lets the gate pass."""
        return self.effect != "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a gate decides, and why.

    `exit_code` is 0 (pass), 1 (regressed), 2 (the change can't be used), 3 (untestable) or 4 (inconclusive, where the policy fails on
    it). `stopped` says why nothing was judged, "" where something was. `judged` is False where what was measured, if anything, says
    nothing of the change: then a pass is none, and is not called one. `todo` are sentences that say what to do, `notes` what was
    measured and why, what was left out, and what else there is to know.
    """

    exit_code: int
    policy: str
    rulings: tuple[Ruling, ...]
    stopped: str
    todo: tuple[str, ...]
    notes: tuple[str, ...]
    judged: bool

    @property
    def passes(self) -> bool:
        return self.exit_code == EXIT_PASS

    @property
    def deciding(self) -> tuple[Ruling, ...]:
        """The rulings of what was to decide; what warns or fails because it got worse beside that is none of them."""
        return tuple(ruling for ruling in self.rulings if ruling.effect != "report" and ruling.rule != ALSO_WORSE)

    def of(self, effect: Effect) -> tuple[Ruling, ...]:
        """The rulings with that effect."""
        return tuple(ruling for ruling in self.rulings if ruling.effect == effect)
