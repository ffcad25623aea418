"""Witnesses before and after, and the work that both arms must share: exact counts."""

from __future__ import annotations

from markupsafe import Markup

from suite.report.nouns import Page
from suite.report.templates import render as render_template


def render(page: Page) -> Markup:
    return render_template("work.html", page=page)
