"""The panels that lay out sentences: the lead with its figure, what was run of each scenario, and the meaning of words."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.report.base.page_model import Page
from perfproof.report.figures import forest
from perfproof.report.formats.templates import render as render_template
from perfproof.report.text import headline, word_list
from perfproof.report.text import lead as lead_text


def lead(page: Page) -> Markup:
    """The first screen below the page's title."""
    return render_template("answer.html", page=page, lead=lead_text.lead(page), forest=forest)


def runs(page: Page) -> Markup:
    """Every scenario: its caveats, what was run, how sure the answer is, what would refute it, and what could not be judged."""
    return render_template("runs.html", page=page, heads=headline) if page.scenarios else Markup("")


def glossary(page: Page) -> Markup:
    """What the words of the page mean, for readers who see one for the first time."""
    terms = word_list.terms(page)
    return render_template("glossary.html", terms=terms) if terms else Markup("")
