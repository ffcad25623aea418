"""A gate's decision for people: its headline, lines and JSON, written once for the terminal, the comment, the summary and JUnit."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE
from perfproof.model.base.untrusted import line
from perfproof.model.verdicts.gate_decision import ALSO_WORSE, EFFECTS, Decision, Effect, Ruling
from perfproof.model.verdicts.judged import EXPLORATORY, SUGGESTS, Judged, Outcome
from perfproof.report.base import formatting
from perfproof.report.base.page_model import Page

SCHEMA = 1
WORDS: dict[Effect, str] = {"fail": "fails", "waived": "waived", "warn": "warns", "pass": "passes", "report": "reported"}
"""The word for an effect, shown before a metric."""
MARKS: dict[Effect, str] = {"fail": "✗", "waived": "~", "warn": "!", "pass": "✓", "report": "·"}
"""The sign beside the word."""
_LOOKS: dict[Effect, str] = {
    "fail": "regressed",
    "waived": "inconclusive",
    "warn": "inconclusive",
    "pass": "settled",
    "report": "exploratory",
}
MOST_NAMED = 2
"""Findings that a headline names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One metric under its rule: the ruling, and its judged row (None where the page has none).

    `candidate` is "" where the scenario has only one.
    """

    ruling: Ruling
    row: Judged | None
    candidate: str

    @property
    def metric(self) -> str:
        """The metric, with the candidate's name where there are several."""
        return formatting.label(self.ruling.metric) + (f" ({self.candidate})" if self.candidate else "")

    @property
    def name(self) -> str:
        return f"{self.metric} of {self.ruling.scenario}"


def clean(decision: Decision) -> Decision:
    """The decision with every text made safe to show."""
    rulings = tuple(
        dataclasses.replace(
            ruling,
            scenario=line(ruling.scenario, 160),
            metric=line(ruling.metric, 160),
            candidate=line(ruling.candidate, 160),
            rule=formatting.sentence(ruling.rule),
            reason=formatting.sentence(ruling.reason),
        )
        for ruling in decision.rulings
    )
    return dataclasses.replace(
        decision,
        policy=line(decision.policy, 160),
        rulings=rulings,
        stopped=formatting.sentence(decision.stopped),
        todo=tuple(map(formatting.sentence, decision.todo)),
        notes=tuple(map(formatting.sentence, decision.notes)),
    )


def laid(page: Page) -> list[Line]:
    """Every ruling of the page's decision with its row, the most important first."""
    decision = page.decision
    if decision is None:
        return []
    every = (row for scenario in page.scenarios for row in (*scenario.unlisted, *scenario.rows))
    rows = {(row.scenario, row.metric, row.candidate): row for row in every}
    lines = _lines(decision.rulings, decision, rows)
    return sorted(lines, key=lambda one: EFFECTS.index(one.ruling.effect))


def _lines(rulings: Sequence[Ruling], decision: Decision, rows: Mapping[tuple[str, str, str], Judged]) -> list[Line]:
    """These rulings of the decision, with their rows."""
    candidates: dict[str, set[str]] = defaultdict(set)
    for each in decision.rulings:
        candidates[each.scenario].add(each.candidate)
    return [
        Line(
            ruling=ruling,
            row=rows.get((ruling.scenario, ruling.metric, ruling.candidate)),
            candidate=ruling.candidate if len(candidates[ruling.scenario]) > 1 else "",
        )
        for ruling in rulings
    ]


def look(ruling: Ruling) -> str:
    """The colour of a ruling on the page. Untestable is not red, and passing is not green."""
    if ruling.effect == "fail" and ruling.code not in (EXIT_REGRESSED, EXIT_INCONCLUSIVE):
        return "untestable"
    return "inconclusive" if is_open(ruling) else _LOOKS[ruling.effect]


def mark(ruling: Ruling) -> str:
    """The sign before a ruling's word, with separate signs where nothing could be tested and where a passing metric is not settled."""
    return "⊘" if look(ruling) == "untestable" else "?" if is_open(ruling) else MARKS[ruling.effect]


def is_open(ruling: Ruling) -> bool:
    """Whether a metric that is not settled passes only because the policy allows it."""
    return ruling.effect == "pass" and ruling.verdict in (Outcome.INCONCLUSIVE, Outcome.UNTESTABLE)


def whole(decision: Decision) -> str:
    """The colour of the whole decision."""
    if decision.passes:
        return "settled" if decision.judged else "inconclusive"
    return "regressed" if decision.exit_code in (EXIT_REGRESSED, EXIT_INCONCLUSIVE) else "untestable"


def headline(decision: Decision) -> str:
    """The first line of every form: what the gate does, under which policy, and why. "Not judged" is not a pass."""
    if decision.passes and not decision.judged:
        return f"Not judged ({decision.policy}): {_why(decision)}"
    verb = {EXIT_PASS: "passes", EXIT_REGRESSED: "fails", EXIT_INCONCLUSIVE: "fails"}.get(decision.exit_code, "can't tell")
    verb = "refuses the change" if decision.exit_code == EXIT_USAGE else verb
    return f"The gate {verb} ({decision.policy}): {_why(decision)}"


def _why(decision: Decision) -> str:
    if decision.stopped:
        return decision.stopped
    failing = [ruling for ruling in decision.of("fail") if ruling.code == decision.exit_code]
    if failing and decision.exit_code == EXIT_UNTESTABLE:
        return _untestable(failing, decision)
    if failing:
        return _named(failing, decision)
    count = len(decision.deciding)
    parts = [f"{count} metric{'' if count == 1 else 's'} decide{'s' if count == 1 else ''}, none fails"]
    counts = ((len(decision.of("warn")), "with a warning"), (len(decision.of("waived")), "waived"))
    parts += [f"{number} {word}" for number, word in counts if number]
    return ", ".join(parts)


def _untestable(failing: Sequence[Ruling], decision: Decision) -> str:
    blames = {ruling.blame for ruling in failing}
    if "change" in blames:
        return "the change does not run, its base does"
    if "base" in blames:
        return "the base itself fails, so the change can't be judged and is not to blame"
    return f"{_named(failing, decision)}: nothing is concluded about the change"


def _named(failing: Sequence[Ruling], decision: Decision) -> str:
    named = [f"{one.name}{_outcome(one.ruling)}" for one in _lines(failing[:MOST_NAMED], decision, {})]
    more = [f"{len(failing) - MOST_NAMED} more"] if len(failing) > MOST_NAMED else []
    return " and ".join([", ".join(named), *more]) if more else " and ".join(named)


def _outcome(ruling: Ruling) -> str:
    """The outcome, to follow the metric's name: " regressed"; of a count of the host's work ": more Python work"."""
    counted = formatting.of_host(ruling.metric, ruling.verdict, ruling.reason)
    return f": {counted}" if counted else f" {_verb(ruling)}"


def _verb(ruling: Ruling) -> str:
    if ruling.verdict == "inconclusive" or ruling.code == EXIT_INCONCLUSIVE:
        return "stayed inconclusive"
    if ruling.code == EXIT_UNTESTABLE:
        return "is untestable"
    if ruling.rule == ALSO_WORSE:
        return "is also worse"
    if ruling.verdict == "regressed" and SUGGESTS in ruling.reason:
        return "likely regressed"
    return "regressed" if ruling.verdict == "regressed" else f"breaks the rule ({ruling.rule})"


def verdict(one: Line) -> str:
    """The verdict's word; "likely …" where launches were shared."""
    of_host = formatting.of_host(one.ruling.metric, one.ruling.verdict, one.ruling.reason)
    return of_host or formatting.outcome_word(one.ruling.verdict, one.row is not None and one.row.suggests)


def document(page: Page) -> dict[str, Any]:
    """The decision as JSON: what `perfproof gate --json` writes."""
    decision = page.decision
    assert decision is not None  # noqa: S101 (a gate's page has one)
    return {
        "schema": SCHEMA,
        "exit_code": decision.exit_code,
        "passes": decision.passes,
        "judged": decision.judged,
        "policy": decision.policy,
        "headline": headline(decision),
        "stopped": decision.stopped,
        "rulings": [_entry(one) for one in laid(page)],
        "counts": page.counts,
        "todo": list(decision.todo),
        "notes": list(decision.notes),
        "warnings": list(page.warnings),
    }


def _entry(one: Line) -> dict[str, Any]:
    ruling, row = one.ruling, one.row
    return {
        "scenario": ruling.scenario,
        "metric": ruling.metric,
        "candidate": ruling.candidate,
        "effect": ruling.effect,
        "exit_code": ruling.code,
        "verdict": ruling.verdict or EXPLORATORY,
        "suggests": row is not None and row.suggests,
        "rule": ruling.rule,
        "reason": ruling.reason,
        "blame": ruling.blame or None,
        "change": row.effect if row else None,
        "interval": list(row.interval) if row and row.interval else None,
        "blocks": row.blocks if row else 0,
    }
