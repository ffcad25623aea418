"""What brings the change: the guilty functions with their shares, the mixtures of both builds on the way there, and the diff back."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.report.base import formatting
from perfproof.report.base.page_model import Page
from perfproof.report.formats.templates import render as render_template

MOST = 80
"""Mixtures in the table, and lines of the diff, at most; the folder of the results has all."""
MOST_LINES = 400


def render(page: Page) -> Markup:
    if not page.blames:
        return Markup("")
    return render_template("blame.html", views=page.blames, share=formatting.share, most=MOST, most_lines=MOST_LINES)
