"""The first lines: the result, one sentence per scenario, and everything that could not be judged."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.report.base.page_model import Page
from perfproof.report.formats.templates import render as render_template


def render(page: Page) -> Markup:
    return render_template("answer.html", page=page)
