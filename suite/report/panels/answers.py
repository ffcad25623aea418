"""Whether the answers changed: accuracy task by task with what flipped, and equality down to the first token that differs."""

from __future__ import annotations

from markupsafe import Markup

from suite.report import answered
from suite.report.nouns import Page
from suite.report.templates import render as render_template

MOST_DIFFERENCES = 40
"""Prompts listed of each part; the raw records hold the rest."""


def render(page: Page) -> Markup:
    shown = [scenario for scenario in page.scenarios if scenario.kind in answered.KINDS]
    return render_template("answers.html", page=page, shown=shown, answered=answered, most=MOST_DIFFERENCES)
