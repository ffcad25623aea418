"""The cost of a delay in every step of the host, beside the line on which all of it would show."""

from __future__ import annotations

from perfproof.report.base import units
from perfproof.report.base.page_model import ExposureView
from perfproof.report.figures import plots

WHOLE = "all of it shows"


def cost(view: ExposureView, name: str) -> str:
    """The median cost in TPOT of each delay, the fitted share with its interval as a band, and the line of slope 1: an `<svg>`."""
    with plots.blank(name, (6.2, 2.6)) as figure:
        figure.subplots_adjust(left=0.12, right=0.985, top=0.97, bottom=0.19)
        axes = figure.subplots()
        far = max(view.delays)
        axes.plot([0, far], [0, far], color=plots.MUTED, lw=0.9, ls=(0, (4, 2.5)), zorder=1)
        axes.annotate(
            WHOLE, (far, far), xytext=(-4, 0), textcoords="offset points", ha="right", va="center", fontsize=8.5, color=plots.MUTED
        )
        axes.axhline(0, color=plots.MUTED, lw=0.6, zorder=1)
        if view.slope:
            value, low, high = (share / 100 for share in view.slope)
            axes.fill_between([0, far], [0, low * far], [0, high * far], color=plots.BAND, lw=0, zorder=0)
            axes.plot([0, far], [0, value * far], color=plots.CANDIDATE, lw=1.6, zorder=2)
        axes.plot(view.delays, view.costs, marker="D", markersize=6, color=plots.CANDIDATE, linestyle="none", zorder=3)
        axes.set_xlabel("delay of a step, µs")
        axes.set_ylabel("TPOT longer by, µs")
        axes.yaxis.set_major_formatter(lambda amount, _: units.signed_minus(f"{amount:,g}"))
        told = f"Cost in TPOT by the delay of a step, {view.scenario}: {view.told[0]}. The table below holds every value."
        return plots.as_svg(figure, name, told, {}, "")
