"""Verdicts and a Policy to a Decision: pass or fail, with the reason of every rule.

Only primary metrics decide. A regression outweighs what could not be tested, and that outweighs what stayed
inconclusive: the exit code names the gravest finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suite.model.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE
from suite.model.judged import Judged, Outcome
from suite.model.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What one primary metric does to the decision."""

    scenario: str
    metric: str
    candidate: str
    verdict: Outcome
    passes: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`exit_code` is 0 (pass), 1 (regressed), 3 (untestable) or 4 (inconclusive, where the policy fails on it)."""

    exit_code: int
    rulings: tuple[Ruling, ...]

    @property
    def passes(self) -> bool:
        return self.exit_code == EXIT_PASS


def decide(judged: Sequence[Judged], policy: Policy) -> Decision:
    """The decision over every primary metric of every scenario; nothing primary to judge is untestable, not a pass."""
    rulings = tuple(_ruling(row, policy) for row in judged if row.primary)
    failing = {ruling.verdict for ruling in rulings if not ruling.passes}
    codes = (("regressed", EXIT_REGRESSED), ("untestable", EXIT_UNTESTABLE), ("inconclusive", EXIT_INCONCLUSIVE))
    gravest = next((code for verdict, code in codes if verdict in failing), EXIT_PASS)
    return Decision(exit_code=gravest if rulings else EXIT_UNTESTABLE, rulings=rulings)


def _ruling(row: Judged, policy: Policy) -> Ruling:
    verdict, reason = row.verdict or Outcome.UNTESTABLE, row.reason
    if row.suggests and policy.shared_launches == "inconclusive":
        verdict, reason = Outcome.INCONCLUSIVE, f"{verdict.value}, but counted as inconclusive (policy: shared_launches): {reason}"
    passes = {
        Outcome.REGRESSED: False,
        Outcome.INCONCLUSIVE: policy.inconclusive == "pass",
        Outcome.UNTESTABLE: policy.untestable == "pass",
    }.get(verdict, True)
    return Ruling(scenario=row.scenario, metric=row.metric, candidate=row.candidate, verdict=verdict, passes=passes, reason=reason)
