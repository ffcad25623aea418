"""Where the rounds or requests of a trial lie: a curve of their density for each trial, the middle trial of each arm filled.

The curve is smoothed from a trial's quantiles. Its height has no unit that anybody reads; its place and width are what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perfproof.analysis.stats.samples import Floats
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import SpreadView
from perfproof.report.figures import distributions, plots

SAMPLES, GRID = 160, 110
"""Values that stand for a trial, and places at which its density is drawn."""
TAIL = 2
"""The quantile from either end at which the figure ends: what lies beyond 5 % and 95 % of every trial is in the table."""
NARROWEST = 0.012
"""The least width of the smoothing, as a share of the axis: what lies closer together can't be told apart on it."""
NOTHING = 0.004
"""The share of its highest place below which a thin curve is not drawn."""
WIDE = 8.0
"""The ratio of the ends from which the axis is logarithmic."""


def spread(view: SpreadView, names: Sequence[str], name: str) -> str:
    """The densities of an arm's trials as thin lines, that of its middle trial filled, its median dashed. Returns an `<svg>` element."""
    scale = units.scale([curve[distributions.MIDDLE] for arm in view.curves for curve in arm], view.unit)
    curves = [[np.array(curve) / scale.factor for curve in arm] for arm in view.curves]
    with plots.blank(name, (6.2, 2.4)) as figure:
        figure.subplots_adjust(left=0.05, right=0.985, top=0.97, bottom=0.21)
        axes = figure.subplots()
        wide = _limits(axes, curves)
        every = [curve for arm in curves for curve in arm]
        if every:
            grid = _grid(axes, wide)
            width = max(_bandwidth(every, wide), NARROWEST * float(grid[-1] - grid[0]))
            for place, arm in enumerate(curves):
                _arm(axes, arm, plots.ARMS[min(place, 2)][0], grid, width, wide, dashed=place >= 2)
        axes.set_ylim(bottom=0)
        axes.set_yticks([])
        axes.set_xlabel(f"{formatting.label(view.name)}, {scale.name or 'count'}{', log' if wide else ''}")
        axes.set_ylabel("how many")
        where = f"Where the values of {formatting.label(view.name)} lie within the trials of {', '.join(names)}"
        label = f"{where}. The table below holds quantiles."
        return plots.as_svg(figure, name, label, {}, "")


def _limits(axes: Any, curves: Sequence[Sequence[Floats]]) -> bool:
    """Sets the ends of the axis; returns whether it is logarithmic."""
    low = min((float(curve[TAIL]) for arm in curves for curve in arm), default=0.0)
    high = max((float(curve[-1 - TAIL]) for arm in curves for curve in arm), default=1.0)
    wide = low > 0 and high / low > WIDE
    if wide:
        axes.set_xscale("log")
        axes.set_xlim(low / (high / low) ** 0.06, high * (high / low) ** 0.06)
        plots.log_marks(axes.xaxis, *axes.get_xlim())
    else:
        pad = 0.1 * (high - low) or 0.05 * (abs(high) or 1.0)
        axes.set_xlim(low - pad, high + pad)
        axes.xaxis.set_major_formatter(lambda value, _: units.signed_minus(f"{value:,g}"))
    return wide


def _grid(axes: Any, wide: bool) -> Floats:
    low, high = axes.get_xlim()
    return np.linspace(np.log(low), np.log(high), GRID) if wide else np.linspace(low, high, GRID)


def _values(curve: Floats, wide: bool) -> Floats:
    """Values that lie as the trial's do, by its quantiles."""
    levels = (np.arange(SAMPLES) + 0.5) / SAMPLES
    values = np.interp(levels, distributions.LEVELS, curve)
    return np.log(values) if wide else values


def _bandwidth(curves: Sequence[Floats], wide: bool) -> float:
    """One width for all, the middle one of Silverman's rule, so that a quiet trial is no needle beside the others."""
    found = []
    for curve in curves:
        values = _values(curve, wide)
        quartiles = np.percentile(values, (25, 75))
        size = min(float(values.std()), float(quartiles[1] - quartiles[0]) / 1.34) or float(values.std())
        found.append(0.9 * size * SAMPLES**-0.2)
    return float(np.median(found)) or 1e-9


def _arm(axes: Any, arm: Sequence[Floats], colour: str, grid: Floats, width: float, wide: bool, *, dashed: bool) -> None:
    middle = distributions.middle([curve.tolist() for curve in arm])
    shown = np.exp(grid) if wide else grid
    for curve in arm:
        height = _density(_values(curve, wide), grid, width)
        flat = height < NOTHING * height.max()
        axes.plot(shown, np.where(flat, np.nan, height), color=colour, lw=0.6, alpha=0.5, zorder=2)
    if middle:
        height = _density(_values(np.array(middle), wide), grid, width)
        axes.fill_between(shown, height, color=colour, alpha=0.16, lw=0, zorder=1)
        axes.plot(shown, height, color=colour, lw=1.8, ls="--" if dashed else "-", zorder=3)
        axes.axvline(middle[distributions.MIDDLE], color=colour, lw=0.9, ls=(0, (4, 2.5)), zorder=2)


def _density(values: Floats, grid: Floats, width: float) -> Floats:
    apart = (grid[:, None] - values[None, :]) / width
    heights: Floats = np.exp(-0.5 * apart**2).mean(axis=1) / width
    return heights
