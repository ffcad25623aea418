"""The text for a pull request: GitHub markdown that fits GitHub's limit, with raw values and commands to check it.

In the open, in at most `OPEN` lines: the result and what was changed, a row for every metric that changed or is open, answers, trust and
the next step, as on the page, and why what is open is open (for a gate: its decision and one line per metric). All else folds
(`comment_details`). If the whole is too long, the last parts are left out, and the text says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfproof.model.base.name_lists import few as few_names
from perfproof.model.base.untrusted import shorten
from perfproof.model.scenarios.scenario import LEAST_BLOCKS
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting, units
from perfproof.report.base.lead_model import LeadLine
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.formats import comment_details, gate_summary
from perfproof.report.formats.markdown import LONGEST, SIGNS, code, escape, few, fold, sentence, table, verdict_of
from perfproof.report.lead.lead import lead
from perfproof.report.lead.lead_rows import lead_row
from perfproof.report.lead.subjects import subject
from perfproof.report.text import reasons, sentences
from perfproof.report.text.shown_rows import shown

OPEN = 40
"""The most lines before the first fold."""
MOST_ROWS, MOST_REASONS, MOST_NOTES = 12, 6, 8
"""The most rows, reasons and notes in the open."""
HEAD = ("verdict", "metric", "change", "interval", "from → to")
ALSO_WORSE = "also worse"
"""The word for a metric that nobody declared primary and that surely got much worse."""
SAME = (Outcome.EQUIVALENT, Outcome.IDENTICAL)
LIMIT = 65_000
"""GitHub refuses a comment of more than 65,536 characters."""


def render(page: Page, limit: int = LIMIT) -> str:
    """The text, at most `limit` characters."""
    head = "\n\n".join(_head(page))
    parts, left_out = [head], []
    room = limit - len(head) - 200
    for title, body in _folded(page, head):
        part = fold(title, body)
        if len(part) + 2 > room:
            left_out.append(title.lower())
            continue
        parts.append(part)
        room -= len(part) + 2
    if left_out:
        parts.append(f"_Left out, because a comment may hold no more: {', '.join(left_out)}. The HTML report has them._")
    text = "\n\n".join(parts) + "\n"
    return text if len(text) <= limit else f"{text[: limit - 80]}\n\n_Cut off here, because a comment may hold no more._\n"


def _head(page: Page) -> Iterable[str]:
    if page.decision is not None:
        yield from gate_summary.head(page, page.decision)
        return
    first = lead(page)
    yield f"### {escape(first.result)}"
    if first.changed:
        yield escape(first.changed)
    notes = [f"- {shorten(sentence(each), LONGEST)}" for each in page.notes]
    if notes:
        yield "\n".join(notes[:MOST_NOTES])
    rows = _changed(page)
    if rows:
        yield table(HEAD, "llrrr", _rows(rows[:MOST_ROWS]))
        if sample := _sample(rows[:MOST_ROWS]):
            yield sample
    if more := _unchanged(page, len(rows[MOST_ROWS:])):
        yield more
    if reasons_ := list(_open(page)):
        yield few(reasons_, MOST_REASONS)
    if first.lines:
        yield "\n".join(_line(one) for one in first.lines)


def _changed(page: Page) -> list[tuple[ScenarioView, Judged]]:
    """The judged metrics that changed or are open, and others that surely got much worse; the worst first, of changes first."""
    rows = [(one, row) for one in page.scenarios for row in one.rows if row.verdict and row.verdict not in SAME]
    worse = [(one, row) for one in page.scenarios for row in one.worse]
    return [*sorted(rows, key=lambda pair: (subject(pair[0], pair[1].candidate).place, formatting.rank(pair[1]))), *worse]


def _rows(rows: Sequence[tuple[ScenarioView, Judged]]) -> Iterable[Sequence[str]]:
    """The lines of the table. What is judged, and the model, stand in them where they are not the same in all."""
    every = [lead_row(scenario, row) for scenario, row in rows]
    several, models = len({one.subject.title for one in every}) > 1, len({one.model for one in every}) > 1
    for (scenario, row), one in zip(rows, every, strict=True):
        found = shown(scenario, row)
        against = f"{one.where} against {one.against}" if one.against else one.where
        what = [one.subject.name if several else "", against, one.model if models else ""]
        notes = escape("; ".join(filter(None, (one.note, *one.remarks))))
        times = f" ({formatting.factor(one.row)})" if formatting.factor(one.row) else ""
        yield (
            verdict_of(found) if row.verdict else f"▫️ **{ALSO_WORSE}**",
            f"{escape(one.name)}\u00a0{'↓' if row.better == 'lower' else '↑'} · {escape(' · '.join(filter(None, what)))}",
            f"**{escape(f' {formatting.change(one.row)}').strip()}**{times}{f' ({notes})' if notes else ''}",
            escape(f" {formatting.interval(one.row)}").strip() or units.NONE,
            formatting.between(one.row),
        )


def _sample(rows: Sequence[tuple[ScenarioView, Judged]]) -> str:
    """From how much the rows of the table are known, and against which margin: "_Each from 6 to 10 blocks; margin ± 2 %._" """
    judged = [row for _, row in rows if row.blocks]
    numbers: dict[str, list[int]] = {}
    for row in judged:
        numbers.setdefault(formatting.noun(row), []).append(row.blocks)
    spans = ((f"{min(each):,}", f"{max(each):,}", noun) for noun, each in numbers.items())
    counted = [f"{low} to {high} {noun}" if low != high else f"{low} {noun}" for low, high, noun in spans]
    margins = dict.fromkeys(margin for row in judged if (margin := formatting.margin(row)) != units.NONE)
    parts = [f"Each from {' or '.join(counted)}" if counted else "", f"margin {few_names(list(margins), 4)}" if margins else ""]
    return f"_{'; '.join(filter(None, parts))}._" if any(parts) else ""


def _unchanged(page: Page, cut: int) -> str:
    """How many metrics the table leaves out, by verdict."""
    rows = [row for one in page.scenarios for row in one.rows]
    parts = [
        f"{cut} more that changed or are open" if cut else "",
        f"{same} without a change that matters" if (same := sum(row.verdict in SAME for row in rows)) else "",
        f"{plain} not judged" if (plain := sum(row.verdict is None for row in rows)) else "",
    ]
    return f"_Folded below: {', '.join(filter(None, parts))}._" if any(parts) else ""


def _open(page: Page) -> Iterable[str]:
    """Why metrics are open or could not be tested; those with the same reason together."""
    for scenario in page.scenarios:
        rows = [row for row in scenario.rows if row.verdict in (Outcome.INCONCLUSIVE, Outcome.UNTESTABLE)]
        for place, group in enumerate(sentences.alike(rows, reasons.told)):
            who = sentences.who(group, len({row.candidate for row in scenario.rows}) > 1)
            lacking = _lacking(scenario) if place == 0 else ""
            said = shorten(escape(f"{scenario.name}, {who}: {reasons.told(group[0]) or 'no reason was given'}"), 300)
            seen = dict.fromkeys(reach for row in group if (reach := formatting.detectable(row)) != units.NONE)
            reach = f"; detectable: {', '.join(seen)}" if seen else ""
            yield f"- {SIGNS[group[0].verdict or 'inconclusive']} {said}{reach}{lacking}"


def _line(one: LeadLine) -> str:
    told = [f"**{escape(text)}**" if flagged else escape(text) for text, flagged in one.clauses]
    for place, command in enumerate(one.commands):
        told[place] += f": {code(command)}" if command else ""
    return f"- {one.label}: {'; '.join(told)}"


def _lacking(scenario: ScenarioView) -> str:
    """How many blocks are missing, where that keeps a verdict open; "" where there are enough."""
    short = [row for row in scenario.primaries if row.verdict == Outcome.INCONCLUSIVE and not row.exact and row.blocks < LEAST_BLOCKS]
    if not scenario.traits or scenario.of_answers or not short:
        return ""
    blocks = min(row.blocks for row in short)
    which = (
        f"{formatting.listed(list(dict.fromkeys(formatting.label(row.metric) for row in short)))}: " if len(scenario.primaries) > 1 else ""
    )
    missing = "the missing one" if blocks == LEAST_BLOCKS - 1 else f"the missing {LEAST_BLOCKS - blocks}"
    return f" ({escape(which)}{blocks} of the {LEAST_BLOCKS} blocks that a verdict needs; the same command measures {missing})"


def _folded(page: Page, head: str) -> Iterable[tuple[str, str]]:
    if page.decision is None and len(page.notes) > MOST_NOTES:
        yield "More about the change", "\n".join(f"- {shorten(sentence(each), LONGEST)}" for each in page.notes[MOST_NOTES:])
    told = [] if page.decision is not None else [row for _, row in _changed(page)[:MOST_ROWS]]
    yield from comment_details.parts(page, told, head)
