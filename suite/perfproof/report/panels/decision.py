"""A gate's decision under its policy: the outcome of every rule with its reason, and what to do; nothing where no gate decided."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.report.base.page_model import Page
from perfproof.report.formats import gate_view
from perfproof.report.formats.templates import render as render_template

MOST = 200
"""The most rulings listed, deciding ones first; the verdict table has every metric."""


def render(page: Page) -> Markup:
    if page.decision is None:
        return Markup("")
    lines = gate_view.laid(page)
    return render_template("decision.html", decision=page.decision, lines=lines[:MOST], further=len(lines[MOST:]), deciding=gate_view)
