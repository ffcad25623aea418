"""The first lines: what came out, one sentence a scenario, and everything that could not be judged."""

from __future__ import annotations

from markupsafe import Markup

from suite.report.nouns import Page
from suite.report.templates import render as render_template


def render(page: Page) -> Markup:
    return render_template("answer.html", page=page)
