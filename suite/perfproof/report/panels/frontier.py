"""Throughput against latency, where the same arms were measured at several loads; else nothing."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.report.base.page_model import Page
from perfproof.report.figures import plots
from perfproof.report.formats.templates import render as render_template

MOST_FIGURES = 6


def render(page: Page) -> Markup:
    if not page.frontiers:
        return Markup("")
    shown = page.frontiers[:MOST_FIGURES]
    drawn = [Markup(plots.frontier(view, f"h{number}")) for number, view in enumerate(shown, 1)]  # noqa: S704  (escaped in plots)
    return render_template("frontier.html", page=page, shown=shown, drawn=drawn)
