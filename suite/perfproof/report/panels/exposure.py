"""What host time is worth: how much of a known delay in every step shows on a server."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.report.base.page_model import Page
from perfproof.report.figures import exposure_plot
from perfproof.report.formats.templates import render as render_template


def render(page: Page) -> Markup:
    if not page.exposures:
        return Markup("")
    drawn = [
        Markup(exposure_plot.cost(view, f"x{number}")) if view.costs else Markup("")  # noqa: S704  (escaped in plots)
        for number, view in enumerate(page.exposures, 1)
    ]
    return render_template("exposure.html", views=page.exposures, drawn=drawn)
