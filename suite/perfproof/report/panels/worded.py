"""The panels that lay out sentences: the lead with its figure, what was run of each scenario, and the meaning of words."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.model.base.name_lists import few
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import Page
from perfproof.report.figures import forest
from perfproof.report.formats.templates import render as render_template
from perfproof.report.lead import lead as lead_text
from perfproof.report.text import headline, word_list
from perfproof.report.text.shown_rows import outcome

MOST_MARGINS = 3
"""The most margins that are named below the figure."""


def lead(page: Page) -> Markup:
    """The first screen below the page's title."""
    found = lead_text.lead(page)
    rows = [one.row for group in found.groups for one in group.rows]
    margins = dict.fromkeys(margin for row in rows if (margin := formatting.margin(row)) != units.NONE)
    told = f" ({few(list(margins), MOST_MARGINS)})" if margins else ""
    return render_template("answer.html", page=page, lead=found, forest=forest, margins=told)


def runs(page: Page) -> Markup:
    """Every scenario: its caveats, what was run, how sure the answer is, what would refute it, and what could not be judged."""
    return render_template("runs.html", page=page, heads=headline, outcome=outcome) if page.scenarios else Markup("")


def glossary(page: Page) -> Markup:
    """What the words of the page mean, for readers who see one for the first time."""
    terms = word_list.terms(page)
    return render_template("glossary.html", terms=terms) if terms else Markup("")
