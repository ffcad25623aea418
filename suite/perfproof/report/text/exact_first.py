"""What exact counts say of a scenario whose times are untestable or open: that is known on any machine, and so is said first."""

from __future__ import annotations

from collections.abc import Sequence

from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting
from perfproof.report.base.page_model import ScenarioView

UNTESTED = "times untestable"
"""The words for a scenario whose counts have verdicts and whose times have none."""
BUSY = "too noisy to measure on"
"""How the reason of a time ends that a busy machine spoilt."""
MEASURED = ("time", "rate", "memory")
"""The kinds of metrics that a busy machine spoils."""
FIRST = ("python_instructions", "python_calls", "c_calls")
"""The counts that are named first."""


def exact_first(scenario: ScenarioView) -> str:
    """A clause such as "−16.4 % Python instructions, exact (64 requests; 3 of 9 counts changed); times untestable: the machine was busy",
    and behind it a time that surely grew in blocks that don't count; "" where the scenario's times are tested, or where anything but a time
    is untestable. It is no verdict on a time."""
    spoilt = [row for row in formatting.deciding(scenario.rows) if row.verdict == Outcome.UNTESTABLE]
    known = [row for row in scenario.rows if row.exact and row.verdict not in (None, Outcome.UNTESTABLE)]
    if scenario.outcome != Outcome.UNTESTABLE or not known or not all(row.kind in MEASURED for row in spoilt):
        return ""
    why = ": the machine was busy" if any(BUSY in row.reason for row in spoilt) else ""
    slower = next((row for row in spoilt if _surely_worse(row)), None)
    return f"{_counted(known)}; {UNTESTED}{why}{f'; {formatting.label(slower.metric)} {formatting.change(slower)}' if slower else ''}"


def _surely_worse(row: Judged) -> bool:
    """Whether the excluded blocks of a metric without any other lie on the worse side of no change."""
    low, high = (row.uncounted and row.uncounted.interval) or (0.0, 0.0)
    return low > 0 if row.better == "lower" else high < 0


def exact_beside(scenario: ScenarioView) -> str:
    """A clause on the counts of a scenario whose times are open: "+6.0 % Python instructions, exact (64 requests; 9 of 9 counts changed)";
    "" where a time is settled, or anything but a time is open. The times have a clause of their own behind it."""
    open_ = [row for row in formatting.deciding(scenario.rows) if row.verdict in (Outcome.INCONCLUSIVE, Outcome.UNTESTABLE)]
    settled = [row for row in formatting.deciding(scenario.rows) if row.kind in MEASURED and row not in open_]
    known = [row for row in scenario.rows if row.exact and row.verdict not in (None, Outcome.UNTESTABLE)]
    if scenario.itself or scenario.outcome != Outcome.INCONCLUSIVE or settled or not all(row.kind in MEASURED for row in open_):
        return ""
    return _counted(known) if known else ""


def _counted(rows: Sequence[Judged]) -> str:
    """The count that says most, and how many others moved."""
    moved = sorted((row for row in rows if row.effect != 0), key=_weight)
    if not moved:
        return f"nothing changed in {_number(rows)}, exact"
    worst = moved[0]
    name, _, case = formatting.label(worst.metric).partition(", ")
    named = f"{name[:1].upper()}{name[1:]}" if name.startswith("python") else name
    number = formatting.factor(worst) if worst.effect is None else formatting.change(worst)
    beside = "; ".join(filter(None, (case, f"{len(moved)} of {_number(rows)} changed" if len(rows) > 1 else "")))
    return f"{number} {named}, exact{f' ({beside})' if beside else ''}"


def _number(rows: Sequence[Judged]) -> str:
    return f"{len(rows)} count{'s' if len(rows) > 1 else ''}"


def _weight(row: Judged) -> tuple[bool, bool, bool, int, float]:
    """The sort key of a count: more work first, then what moved by more than its margin, then what the scenario judges, then Python's
    instructions, the largest change first."""
    base = row.metric.partition("@")[0]
    place = FIRST.index(base) if base in FIRST else len(FIRST)
    within = row.verdict in (Outcome.EQUIVALENT, Outcome.IDENTICAL)
    return row.verdict != Outcome.REGRESSED, within, not row.primary, place, -abs(row.effect or 0.0)
