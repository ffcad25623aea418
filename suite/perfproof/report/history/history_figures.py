"""The small multiples: one metric over builds, its levels, and the builds where it changed."""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import Any

from perfproof.report.base import units
from perfproof.report.figures import plots
from perfproof.report.figures.plot_layout import Dot
from perfproof.report.history import history_view
from perfproof.report.history.history_model import LineView, StepView, Timeline

MOST_TICKS = 24
"""The most builds named on the axis; of more, an even sample is named."""
HEADROOM = 0.30
"""The share of the figure above the data, for the labels of steps."""


def timeline(shown: Timeline, name: str, rows: str, colours: dict[str, int]) -> str:
    """A timeline as an `<svg>` element.

    `name` is unique within the page; `rows` is the prefix of the ids of the table's rows; `colours` maps a machine to its colour's place.
    """
    scale = units.scale([dot.value for line in shown.lines for dot in line.dots], shown.unit)
    with plots.blank(name, (6.2, 2.9)) as figure:
        figure.subplots_adjust(left=0.125, right=0.985, top=0.985, bottom=0.215)
        axes = figure.subplots()
        wide = _scale(axes, shown, scale.factor)
        hover: plots.Hover = {}
        number = 0
        for line in shown.lines:
            look = plots.ARMS[min(colours[line.machine], len(plots.ARMS) - 1)]
            gid = f"m{colours[line.machine]}"
            hover[gid] = _line(axes, line, shown, scale.factor, look, gid, number)
            number += len(line.dots)
        _steps(axes, shown)
        axes.set_xlim(-0.7, len(shown.builds) - 0.3)
        every = range(0, len(shown.builds), -(-len(shown.builds) // MOST_TICKS))
        axes.set_xticks(list(every), [shown.short[place] for place in every], rotation=50, ha="right", rotation_mode="anchor", fontsize=8.5)
        axes.set_ylabel(f"{scale.name or 'count'}" + (", log" if wide else ""))
        label = (
            f"{shown.metric} of {shown.scenario} over {len(shown.builds)} builds: {history_view.summary(shown)}. The table "
            f"below holds every value."
        )
        return plots.as_svg(figure, name, label, hover, rows)


def _scale(axes: Any, shown: Timeline, factor: float) -> bool:
    """Sets the limits with room above for labels. Returns whether the scale is logarithmic."""
    ends = [end / factor for line in shown.lines for dot in line.dots for end in (dot.low, dot.high)]
    low, high = min(ends), max(ends)
    room = HEADROOM if shown.steps else 0.08
    wide = low > 0 and high / low > 8
    if wide:
        axes.set_yscale("log")
        axes.set_ylim(low / (high / low) ** 0.08, high * (high / low) ** (room / (1 - room)))
        plots.log_marks(axes.yaxis, low, high)
    else:
        foot = min(0.0, low) if shown.exact else low
        spread = (high - foot) or 0.5 * abs(high) or 1.0
        axes.set_ylim(foot - (0.04 if shown.exact else 0.12) * spread, high + room / (1 - room) * spread)
        axes.locator_params(axis="y", nbins=4)
        axes.yaxis.set_major_formatter(lambda amount, _: units.signed_minus(f"{amount:,g}") if amount <= high * 1.02 or high <= 0 else "")
    return wide


def _line(axes: Any, line: LineView, shown: Timeline, factor: float, look: tuple[str, str, float], gid: str, first: int) -> list[Dot]:
    """Draws one machine's points, the level between steps, and the changes of its environment. Returns the points for tooltips."""
    colour, marker, size = look
    places = {*(step.place for step in line.steps if step.state != "refuted"), *shown.elsewhere}
    bounds = [0, *sorted(places), len(shown.builds)]
    for start, end in pairwise(bounds):
        own = [dot for dot in line.dots if start <= dot.place < end]
        if own:
            level = median(dot.value for dot in own) / factor
            ends = [own[0].place - 0.4, own[-1].place + 0.4]
            axes.plot(ends, [level, level], color=colour, lw=2.4, alpha=0.35, solid_capstyle="butt", zorder=2)
    for place in shown.elsewhere:
        axes.axvline(place - 0.5, color=plots.MUTED, lw=0.6, alpha=0.6, zorder=1)
    for place, _ in line.changes:
        axes.axvline(place - 0.5, color=plots.MUTED, lw=0.9, ls=(0, (1.2, 2.2)), zorder=1)
    for dot in line.dots:
        if dot.low < dot.high:
            axes.plot([dot.place, dot.place], [dot.low / factor, dot.high / factor], color=colour, lw=1, zorder=3)
    (marks,) = axes.plot(
        [dot.place for dot in line.dots],
        [dot.value / factor for dot in line.dots],
        marker=marker,
        markersize=size * 0.8,
        color=colour,
        linestyle="none",
        zorder=4,
    )
    marks.set_gid(gid)
    return [
        Dot(
            number=first + number,
            block=0,
            x=dot.place,
            y=dot.value,
            ok=True,
            baseline=False,
            text=_point_title(dot.build, dot.value, dot.trials, shown),
        )
        for number, dot in enumerate(line.dots)
    ]


def _point_title(build: str, amount: float, trials: int, shown: Timeline) -> str:
    return f"{build}: {history_view.value(amount, shown)} ({trials} trial{'s' * (trials != 1)})"


def _steps(axes: Any, shown: Timeline) -> None:
    """Draws a line at every step with its size above: solid if it stands, dashed if it was accepted, none if it was refuted."""
    standing = [step for _, step in shown.steps if step.state != "refuted"]
    for number, step in enumerate(standing):
        accepted = step.state == "accepted"
        colour = plots.MUTED if accepted else plots.WORSE if step.worse else plots.BETTER
        axes.axvline(step.place - 0.5, color=colour, lw=1.2, ls=(0, (4, 2.5)) if accepted else "-", ymax=0.98, zorder=1)
        right = step.place > 0.72 * len(shown.builds)
        axes.annotate(
            _words(step, shown),
            (step.place - 0.5, 0.985 - 0.115 * (number % 2)),
            xycoords=("data", "axes fraction"),
            xytext=(-3 if right else 3, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            va="top",
            color=colour,
            fontsize=8.5,
            bbox={"facecolor": plots.PAPER, "edgecolor": "none", "pad": 0.8},
            zorder=5,
        )


def _words(step: StepView, shown: Timeline) -> str:
    parts = [shown.short[step.place], history_view.size(step) or f"from {history_view.levels(step, shown)}"]
    return " ".join(filter(None, parts)).replace("\u202f", " ") + (" (accepted)" if step.state == "accepted" else "")
