"""The machine that the trials ran on, and what about it changed between them."""

from __future__ import annotations

from markupsafe import Markup

from suite.report.nouns import Page
from suite.report.templates import render as render_template


def render(page: Page) -> Markup:
    return render_template("machine.html", page=page)
