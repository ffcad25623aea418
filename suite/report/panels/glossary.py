"""What the words of the page mean, for whoever reads one for the first time."""

from __future__ import annotations

from markupsafe import Markup

from suite.report import glossary
from suite.report.nouns import Page
from suite.report.templates import render as render_template


def render(page: Page) -> Markup:
    found = glossary.terms(page)
    return render_template("glossary.html", terms=found) if found else Markup("")
