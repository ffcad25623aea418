"""Within the trials: distributions of rounds and requests, for illustration. Only one number per trial is judged."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.report.base.page_model import Page, SpreadView
from perfproof.report.figures import density, distributions
from perfproof.report.formats.templates import render as render_template

SHOWN = (2, 10, 20, 30, 38, 40)
"""The levels (fortieths) of the table behind each figure."""


MOST_FIGURES = 12
"""The most figures on a page, shared evenly among its scenarios; at least one each."""


def render(page: Page) -> Markup:
    most = max(1, MOST_FIGURES // max(1, sum(bool(scenario.spreads) for scenario in page.scenarios)))
    drawn = [
        [
            Markup(density.spread(view, [arm.name for arm in scenario.arms], f"e{number}-{index}"))  # noqa: S704  (escaped in density)
            for index, view in enumerate(scenario.spreads[:most])
        ]
        for number, scenario in enumerate(page.scenarios, 1)
    ]
    levels = [f"{100 * distributions.LEVELS[place]:g} %" for place in SHOWN]
    return render_template("spread.html", page=page, drawn=drawn, levels=levels, middle=middle, ends=ends)


def middle(view: SpreadView, arm: int) -> list[float]:
    """The shown quantiles of an arm's middle trial, which is drawn as a thick line."""
    quantiles = distributions.middle(view.curves[arm])
    return [quantiles[place] for place in SHOWN] if quantiles else []


def ends(view: SpreadView, arm: int) -> list[tuple[float, float]]:
    """The lowest and highest of each shown quantile over an arm's trials; the thin lines lie between them."""
    trials = view.curves[arm]
    return [(min(curve[place] for curve in trials), max(curve[place] for curve in trials)) for place in SHOWN] if len(trials) > 1 else []
