"""Whether the answers changed: accuracy task by task with what flipped, and equality down to the first token that differs."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from suite.model.accuracy_details import AccuracyDetails
from suite.model.equality import EqualityDetails
from suite.model.judged import Outcome
from suite.report import answered
from suite.report.nouns import Page, ScenarioView
from suite.report.templates import render as render_template

MOST_DIFFERENCES = 40
"""Prompts listed of each part; the raw records hold the rest."""
OPEN = 8
"""Differences up to which their table stands open."""


def render(page: Page) -> Markup:
    shown = [scenario for scenario in page.scenarios if scenario.kind in answered.KINDS]
    return render_template(
        "answers.html",
        page=page,
        shown=shown,
        answered=answered,
        most=MOST_DIFFERENCES,
        open=OPEN,
        verdict_of=verdict_of,
        in_common=in_common,
    )


def verdict_of(scenario: ScenarioView, part: EqualityDetails) -> Outcome | None:
    """What was judged of a part of the answers."""
    return next((row.verdict for row in scenario.rows if (row.metric, row.candidate) == (part.part, part.candidate)), None)


def in_common(one: AccuracyDetails) -> str:
    """The reason that all of several tasks share; "" where each has its own."""
    reasons: Sequence[str] = [task.reason for task in one.tasks]
    return reasons[0] if len(reasons) > 1 and len(set(reasons)) == 1 else ""
