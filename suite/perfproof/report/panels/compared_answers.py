"""Whether the answers changed: accuracy by task with the flipped items, and equality down to the first token that differs."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from perfproof.model.verdicts.accuracy_details import AccuracyDetails
from perfproof.model.verdicts.equality_details import EqualityDetails
from perfproof.model.verdicts.judged import Outcome
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.formats.templates import render as render_template
from perfproof.report.text import answer_text

MOST_DIFFERENCES = 40
"""The most prompts listed of each part; the raw records hold the rest."""
OPEN = 8
"""The most differences with which their table is open."""


def render(page: Page) -> Markup:
    shown = [scenario for scenario in page.scenarios if scenario.of_answers]
    return render_template(
        "answers.html",
        page=page,
        shown=shown,
        answered=answer_text,
        most=MOST_DIFFERENCES,
        open=OPEN,
        verdict_of=verdict_of,
        in_common=in_common,
    )


def verdict_of(scenario: ScenarioView, part: EqualityDetails) -> Outcome | None:
    """The verdict on a part of the answers."""
    return next((row.verdict for row in scenario.rows if (row.metric, row.candidate) == (part.part, part.candidate)), None)


def in_common(one: AccuracyDetails) -> str:
    """The reason that several tasks share; "" where they differ."""
    reasons: Sequence[str] = [task.reason for task in one.tasks]
    return reasons[0] if len(reasons) > 1 and len(set(reasons)) == 1 else ""
