"""Exact counts in both arms, the work that both must share, and how costs grow with the swept size."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.report.base.page_model import Page
from perfproof.report.figures import plots
from perfproof.report.formats.templates import render as render_template

MOST_FIGURES = 12
"""The most figures on a page, shared evenly among its scenarios; at least one each."""


def render(page: Page) -> Markup:
    most = max(1, MOST_FIGURES // max(1, sum(bool(scenario.growths) for scenario in page.scenarios)))
    grown = [
        [
            Markup(plots.grown(view, [arm.name for arm in scenario.arms], f"g{number}-{index}"))  # noqa: S704  (escaped in plots)
            for index, view in enumerate(scenario.growths[:most])
        ]
        for number, scenario in enumerate(page.scenarios, 1)
    ]
    return render_template("work.html", page=page, grown=grown)
