"""The head of a gate's comment and step summary: the decision, one line per metric, the reasons that matter, what to do, and the notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfproof.model.base.errors import EXIT_UNTESTABLE
from perfproof.model.verdicts.gate_decision import Decision, Effect, Ruling
from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import Page
from perfproof.report.formats import gate_view
from perfproof.report.formats.gate_view import Line
from perfproof.report.formats.markdown import escape, few, fold, sentence, table

MARK = "<!-- perfproof gate -->"
"""The first line of a comment; the next run finds the comment by it and replaces it."""
SIGNS: dict[Effect, str] = {"fail": "❌", "waived": "🩹", "warn": "⚠️", "pass": "✅", "report": "▫️"}
NEUTRAL = "⚪"
"""The sign of a change that was not judged."""
OPEN = "❔"
"""The sign of a metric that is not settled and passes only because the policy allows it."""
HEAD = ("", "metric", "base → change", "by", "rule")
FEW, MOST = 8, 16
"""The most lines of the table with metrics that only report, and without them."""


def head(page: Page, decision: Decision) -> Iterable[str]:
    """The parts of the head, each a paragraph, list or table."""
    lines = gate_view.laid(page)
    yield f"{MARK}\n### {_sign(decision)} {escape(gate_view.headline(decision))}"
    opened = lines if len(lines) <= FEW else [one for one in lines if one.ruling.effect != "report"]
    shown = opened[:MOST]
    if shown:
        yield table(HEAD, "llrrl", (_cells(one) for one in shown))
    if len(opened) > len(shown):
        yield f"{len(opened) - len(shown)} further metrics have a ruling, below."
    if len(lines) > len(opened):
        yield f"{len(lines) - len(opened)} further metrics are reported only, below."
    reasons = [f"- {_mark(one.ruling)} {escape(f'{one.name}: {one.ruling.reason}'.removesuffix(': '))}" for one in lines if _is_listed(one)]
    if reasons:
        yield few(reasons, 8)
    if decision.todo:
        yield "**What to do**\n\n" + few([f"- {sentence(each)}" for each in decision.todo])
    if decision.notes:
        yield _measured([f"- {sentence(each)}" for each in decision.notes])


def _measured(notes: Sequence[str]) -> str:
    """What was measured and why: a few lines are open, many are folded."""
    if len(notes) <= 6:
        return "**What was measured, and why**\n\n" + few(notes)
    return fold("What was measured, and why", few(notes, 60))


def _sign(decision: Decision) -> str:
    if decision.passes and not decision.judged:
        return NEUTRAL
    return (
        "✅" if decision.passes and not decision.of("warn") else "⚠️" if decision.passes else "❌" if decision.exit_code in (1, 4) else "🚫"
    )


def _mark(ruling: Ruling) -> str:
    """The sign of an effect, with separate signs where nothing could be tested and where a passing metric is not settled."""
    if ruling.effect == "fail" and ruling.code == EXIT_UNTESTABLE:
        return "🚫"
    return OPEN if gate_view.is_open(ruling) else SIGNS[ruling.effect]


def _is_listed(one: Line) -> bool:
    """Whether the list below the table has the metric's reason: where it fails, is waived or warns."""
    return one.ruling.effect in ("fail", "waived", "warn")


def _cells(one: Line) -> Sequence[str]:
    ruling, row = one.ruling, one.row
    word = f"{_mark(ruling)} {gate_view.WORDS[ruling.effect]}"
    arrow = f"\u00a0{'↓' if row.better == 'lower' else '↑'}" if row else ""
    change = _change(row) if row else units.NONE
    metric = f"{escape(one.metric)}{arrow}"
    decides = ruling.effect != "report" and change != units.NONE
    between = formatting.between(row) if row else units.NONE
    return word, f"{metric} · {escape(ruling.scenario)}", between, f"**{change}**" if decides else change, escape(ruling.rule)


def _change(row: Judged) -> str:
    """The change with its interval, or with its factor for an exact count."""
    interval = formatting.interval(row)
    behind = (
        f" ({formatting.factor(row)})"
        if interval == "exact" and formatting.factor(row)
        else ""
        if interval in ("", "exact")
        else f" {interval}"
    )
    return f"{formatting.change(row)}{behind}"
