"""Where it helps and where it doesn't: every metric of every scenario, its change against its margin on one scale."""

from __future__ import annotations

from markupsafe import Markup

from suite.report import strips
from suite.report.nouns import Page
from suite.report.templates import render as render_template


def render(page: Page) -> Markup:
    return render_template("verdicts.html", page=page, axis=strips.axis(row for scenario in page.scenarios for row in scenario.rows))
