"""The nouns of a gate: the ruling of a rule on a metric, and the decision of all rulings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from perfproof.model.base.errors import EXIT_PASS
from perfproof.model.verdicts.judged import Outcome

Effect = Literal["fail", "waived", "warn", "pass", "report"]
"""The effect of a ruling: it fails the gate; it would, but is waived; it passes with a warning; it passes; it has no effect."""
EFFECTS: tuple[Effect, ...] = ("fail", "waived", "warn", "pass", "report")
"""The effects, most important first."""
Blame = Literal["", "base", "change"]
"""Whose trials failed, if nothing could be tested: the base's own, so that the change is not to blame, or only the change's."""
ALSO_WORSE = "not surely worse by much"
"""The rule for a metric that is not primary, if the policy lets such a metric warn or fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The effect of one metric of one candidate on the decision.

    `rule` is the rule in words; `code` is the exit code if it fails, else 0. `verdict` is None for a metric that was only explored.
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
    """A gate's decision, and why.

    `exit_code` is 0 (pass), 1 (regressed), 2 (the change can't be used), 3 (untestable) or 4 (inconclusive, where the policy fails on it).
    `stopped` says why nothing was judged, "" if something was. `judged` is False if the measurements, if any, say nothing about the change:
    then exit code 0 is no pass, and is not called one. `todo` are sentences about what to do, `notes` about what was measured and why, what
    was left out, and other facts.
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
        """The rulings on metrics that decide, without other metrics that warn or fail because they got worse."""
        return tuple(ruling for ruling in self.rulings if ruling.effect != "report" and ruling.rule != ALSO_WORSE)

    def of(self, effect: Effect) -> tuple[Ruling, ...]:
        """The rulings with that effect."""
        return tuple(ruling for ruling in self.rulings if ruling.effect == effect)
