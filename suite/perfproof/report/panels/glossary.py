"""What the words of the page mean, for readers who see one for the first time."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.report.base.page_model import Page
from perfproof.report.formats.templates import render as render_template
from perfproof.report.text import word_list


def render(page: Page) -> Markup:
    terms = word_list.terms(page)
    return render_template("glossary.html", terms=terms) if terms else Markup("")
