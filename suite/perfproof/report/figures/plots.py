"""The figures: trials by block, as SVG whose text is text and whose colours are the page's own.

This is the only user of matplotlib. A figure is drawn in placeholder colours, which are then replaced by the page's CSS variables, so
that it follows light, dark and print. Ids get a prefix, so that many figures can share one page. Titles are captions in HTML, which
state the finding.
"""

from __future__ import annotations

import html
import io
import logging
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import FrontierView, GrowthView, SignalView, TrialView
from perfproof.report.figures import plot_layout
from perfproof.report.figures.plot_layout import Dot

INK, MUTED, HAIR, BASELINE, CANDIDATE, BAND, PAPER = "#0a0b01", "#0a0b02", "#0a0b03", "#0a0b04", "#0a0b05", "#0a0b06", "#0a0b07"
SECOND, WORSE, BETTER = "#0a0b08", "#0a0b09", "#0a0b0a"
ARMS = ((BASELINE, "o", 6.4), (CANDIDATE, "D", 6.0), (SECOND, "s", 6.2))
"""Colour, marker and its size of the baseline, the first candidate, and every further one."""
_COLOURS = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    HAIR: "var(--hair)",
    BASELINE: "var(--baseline)",
    CANDIDATE: "var(--candidate)",
    SECOND: "var(--second)",
    BAND: "var(--band)",
    PAPER: "var(--paper)",
    WORSE: "var(--regressed)",
    BETTER: "var(--improved)",
}
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.linewidth": 0.6,
    "axes.edgecolor": HAIR,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "text.color": INK,
    "path.simplify": False,
}
Look = tuple[str, str, float]
HOVER = 400
"""The most trials of a figure whose dots have tooltips."""


Hover = dict[str, list[Dot]]
"""The dots behind every group of marks, in the order of drawing."""


def trials(
    row: Judged,
    views: Sequence[TrialView],
    name: str,
    rows: str,
    candidate: int,
    load: SignalView | None = None,
    cores: int | None = None,
    turned: bool = False,
) -> str:
    """Both arms' values by block, in the order of running, and beside them each block's change with margin and interval.

    Beneath lies the load of the machine while each trial ran, where it is known: `load`, with a line at the number of `cores`.

    `name` must be unique within the page. `rows` is the prefix of the ids of the table's rows; a trial's number follows it.
    `candidate` is the candidate's place among the arms, for its colour; of a row that is `turned`, that of its baseline. Returns an `<svg>`
    element.
    """
    dots = plot_layout.place(row, views)
    loads = plot_layout.loads(row, views, load)
    with blank(name, (12.4, 3.5 if loads else 2.9)) as figure:
        grid = figure.add_gridspec(2, 2, width_ratios=(2.6, 1), height_ratios=(3.6, 1 if loads else 0.001))
        figure.subplots_adjust(left=0.062, right=0.997, top=0.97, bottom=0.15 if loads else 0.18, wspace=0.17, hspace=0.12 if loads else 0)
        left, right = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[:, 1])
        look = ARMS[min(max(candidate, 1), 2)]
        before, after = (look, ARMS[0]) if turned else (ARMS[0], look)
        hover = _values(left, row, dots, before, after)
        if loads:
            _loads(figure.add_subplot(grid[1, 0], sharex=left), left, loads, cores)
        hover |= _changes(right, row, dots, after[0])
        return as_svg(figure, name, plot_layout.label_of(row, dots), hover, rows)


def _values(axes: Axes, row: Judged, dots: Sequence[Dot], before: Look, after: Look) -> Hover:
    scale = units.scale([dot.y for dot in dots if dot.y is not None], row.unit)
    known = [dot.y / scale.factor for dot in dots if dot.y is not None]
    wide = bool(known) and min(known) > 0 and max(known) / min(known) > 8
    axes.set_yscale("log" if wide else "linear")
    _joined(axes, plot_layout.pairs(dots), scale.factor)
    hover: Hover = {}
    for baseline in (True, False):
        for kind in ("counted", "spoilt", "lost"):
            group = [dot for dot in dots if dot.baseline is baseline and dot.kind == kind]
            hover |= _dots(axes, group, scale.factor, before if baseline else after)
    axes.set_ylabel(f"{scale.name or 'count'}   ({formatting.direction(row.better)})" + (", log" if wide else ""))
    axes.set_xlabel("block; within it, the order of running")
    _limits(axes, known, wide, dots)
    return hover


def _loads(axes: Axes, above: Axes, loads: Sequence[tuple[float, float, float]], cores: int | None) -> None:
    """A bar from the lowest to the highest load beside each trial, under its dot; a line at the cores where the load comes near them."""
    xs = [x for place, _, _ in loads for x in (place, place, math.nan)]
    ys = [y for _, low, high in loads for y in (low, max(high, low + 0.02), math.nan)]
    axes.plot(xs, ys, color=MUTED, lw=3.2, solid_capstyle="butt", zorder=2)
    most = max(high for _, _, high in loads)
    if cores and most > cores / 2:
        axes.axhline(cores, color=WORSE if most > cores else MUTED, lw=0.8, ls=(0, (4, 2.5)), zorder=1)
        axes.annotate(f"{cores} cores", (1, cores), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8, color=MUTED)
        most = max(most, 1.25 * cores)
    axes.set_ylim(0, 1.12 * most)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=2, integer=most > 2))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.set_ylabel("load")
    axes.set_xlabel(above.get_xlabel())
    above.set_xlabel("")
    above.tick_params(labelbottom=False)


def _joined(axes: Axes, pairs: Sequence[tuple[Dot, Dot]], factor: float) -> None:
    """A line from the baseline to the candidate of every block, drawn as one path with gaps."""
    xs = [x for first, second in pairs for x in (first.x, second.x, math.nan)]
    ys = [y for first, second in pairs for y in ((first.y or 0) / factor, (second.y or 0) / factor, math.nan)]
    axes.plot(xs, ys, color=HAIR, lw=1.1, zorder=1)


def _limits(axes: Axes, known: Sequence[float], wide: bool, dots: Sequence[Dot]) -> None:
    if known:
        low, high = min(known), max(known)
        pad = 0.12 * (high - low) or 0.05 * (abs(high) or 1)
        axes.set_ylim((low / 1.8, high * 1.8) if wide else (low - 1.6 * pad, high + pad))
    axes.set_xlim(min((dot.block for dot in dots), default=1) - 0.6, max((dot.block for dot in dots), default=1) + 0.6)
    axes.set_xticks(plot_layout.few(sorted({dot.block for dot in dots}), 12))
    if wide:
        log_marks(axes.yaxis, *axes.get_ylim())
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: units.signed_minus(f"{value:,g}")))


def log_marks(axis: Axis, low: float, high: float) -> None:
    """Marks at 1, 2 and 5 times powers of ten, or at powers of ten alone where those are enough."""
    marks = [1 + change for change in plot_layout.nice_changes(low - 1, high - 1)] if high / low > 3 else []
    if marks:
        axis.set_major_locator(FixedLocator(marks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _dots(axes: Axes, dots: list[Dot], factor: float, look: Look) -> Hover:
    """Dots of one arm and kind: filled if they count, hollow if not, crosses at the bottom if they left no value."""
    if not dots:
        return {}
    baseline, kind = dots[0].baseline, dots[0].kind
    (colour, marker, size), lost = look, kind == "lost"
    (marks,) = axes.plot(
        [dot.x for dot in dots],
        [0.03 if dot.y is None else dot.y / factor for dot in dots],
        transform=axes.get_xaxis_transform() if lost else axes.transData,
        marker="X" if lost else marker,
        markersize=7.5 if lost else size,
        color=colour,
        markerfacecolor=colour if kind == "counted" else PAPER,
        markeredgewidth=0.8 if kind == "counted" else 1.2,
        linestyle="none",
        clip_on=False,
        zorder=3,
    )
    gid = f"{'a' if baseline else 'b'}-{kind}"
    marks.set_gid(gid)
    return {gid: dots}


def _changes(axes: Axes, row: Judged, dots: Sequence[Dot], colour: str) -> Hover:
    """Each block's change, the margin as a band, the interval as a bar; a log axis of ratios marked in per cent."""
    if row.margin:
        axes.axhspan(-math.log1p(row.margin), math.log1p(row.margin), color=BAND, lw=0, zorder=0)
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
    changes = [plot_layout.change(first, second) for first, second in plot_layout.pairs(dots) if (first.y or 0) > 0 and (second.y or 0) > 0]
    hover: Hover = {}
    for kind in ("counted", "spoilt"):
        shown = [change for change in changes if change.kind == kind]
        if shown:
            fill = INK if kind == "counted" else PAPER
            xs, ys = [change.x for change in shown], [change.y or 0 for change in shown]
            (marks,) = axes.plot(xs, ys, marker="o", markersize=5, color=INK, markerfacecolor=fill, linestyle="none", zorder=3)
            marks.set_gid(f"c-{kind}")
            hover[f"c-{kind}"] = shown
    blocks = sorted({dot.block for dot in dots}) or [0]
    whole = blocks[-1] + max(1.4, 0.12 * len(blocks))
    if row.effect is not None and row.effect > -1:
        _interval(axes, row, whole, colour)
    axes.set_xlim(blocks[0] - 0.8, whole + 0.9)
    ticks = [*plot_layout.few(blocks, 5), whole]
    axes.set_xticks(ticks, [*(str(block) for block in ticks[:-1]), "all"])
    axes.set_xlabel("change in each block, and over all")
    low, high = axes.get_ylim()
    marked = plot_layout.nice_changes(math.expm1(low), math.expm1(high))
    axes.set_yticks([math.log1p(change) for change in marked], [plot_layout.tick(change) for change in marked])
    axes.set_ylim(low, high)
    return hover


def _interval(axes: Axes, row: Judged, x: float, colour: str) -> None:
    if row.low is not None and row.high is not None and row.low > -1:
        axes.plot([x, x], [math.log1p(row.low), math.log1p(row.high)], color=colour, lw=2.2, solid_capstyle="butt", zorder=2)
    axes.plot([x], [math.log1p(row.effect or 0)], marker="D", markersize=6.5, color=colour, linestyle="none", zorder=3)


def grown(view: GrowthView, names: Sequence[str], name: str) -> str:
    """The cost by size on two logarithmic axes: a straight line is a power law, its slope the exponent."""
    scale = units.scale([cost for arm in view.costs for cost in arm], view.unit)
    with blank(name, (6.2, 2.8)) as figure:
        figure.subplots_adjust(left=0.12, right=0.985, top=0.97, bottom=0.18)
        axes = figure.subplots()
        for place, arm in enumerate(view.costs):
            colour, marker, size = ARMS[min(place, 2)]
            axes.plot(view.sizes, [cost / scale.factor for cost in arm], color=colour, marker=marker, markersize=size, lw=1.4)
        axes.set_xscale("log")
        axes.set_yscale("log")
        sizes = view.sizes[:: max(1, math.ceil(len(view.sizes) / 8))]
        axes.set_xticks(sizes, [f"{size:,g}" for size in sizes])
        axes.xaxis.set_minor_locator(NullLocator())
        log_marks(axes.yaxis, *axes.get_ylim())
        axes.set_xlabel(f"{view.parameter}, log")
        axes.set_ylabel(f"{scale.name or 'count'}, log   ({formatting.direction(view.better)})")
        return as_svg(figure, name, f"{view.name} by {view.parameter}: {'; '.join(view.words)}. The table below holds every value.", {}, "")


def frontier(view: FrontierView, name: str) -> str:
    """Throughput against latency, one line per arm, with the loads beside the points: up and to the left is better."""
    rate, latency = formatting.unit_of(view.rate)[0], formatting.unit_of(view.latency)[0]
    scale = units.scale([value for arm in view.latencies for value in arm], latency)
    with blank(name, (7.4, 3.4)) as figure:
        figure.subplots_adjust(left=0.12, right=0.97, top=0.95, bottom=0.16)
        axes = figure.subplots()
        for place, (rates, latencies) in enumerate(zip(view.throughputs, view.latencies, strict=True)):
            colour, marker, size = ARMS[min(place, 2)]
            xs = [value / scale.factor for value in latencies]
            axes.plot(xs, rates, color=colour, marker=marker, markersize=size, lw=1.4)
            for load, x, y in zip(view.loads, xs, rates, strict=True):
                offset = (5, -11) if place else (-5, 6)
                axes.annotate(
                    f"{load:g}",
                    (x, y),
                    xytext=offset,
                    textcoords="offset points",
                    fontsize=8,
                    color=MUTED,
                    ha="right" if not place else "left",
                )
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: units.signed_minus(f"{value:,g}")))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: units.signed_minus(f"{value:,g}")))
        axes.set_xlabel(f"{formatting.label(view.latency)}, {scale.name}   ({formatting.direction('lower')})")
        axes.set_ylabel(f"{formatting.label(view.rate)}, {rate}   (higher is better ↑)")
        label = (
            f"{formatting.label(view.rate)} against {formatting.label(view.latency)} by {view.knob}. {view.finding}. The table "
            f"below holds every value."
        )
        return as_svg(figure, name, label, {}, "")


@contextmanager
def blank(name: str, size: tuple[float, float]) -> Iterator[Figure]:
    """An empty figure in our style, with its own ids."""
    style: Any = _STYLE | {"svg.hashsalt": name}
    with mpl.rc_context(style), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
        figure = Figure(figsize=size)
        FigureCanvasSVG(figure)
        yield figure


def as_svg(figure: Figure, name: str, label: str, hover: Hover, rows: str) -> str:
    """The figure as an element for an HTML page: ids prefixed, colours as CSS variables, dots with titles, a label for screen readers."""
    with io.StringIO() as out:
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.S)
    for stand_in, colour in _COLOURS.items():
        text = text.replace(stand_in, colour)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.S)
    text = re.sub(r"; font-family: [^;\"]*", "", text)
    text = _PATH.sub(lambda path: _DIGITS.sub("", path[0]), text)
    for gid, dots in hover.items():
        text = _titled(text, gid, dots, rows)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(url\(#|href="#)', rf"\1{name}-", text)
    box = re.search(r'viewBox="([^"]+)"', text)
    head = f'<svg class="figure" viewBox="{box.group(1) if box else "0 0 662 180"}" role="img" aria-label="{html.escape(label)}">'
    return re.sub(r"\n\s*", "\n", head + text[text.index(">") + 1 :])


def _titled(text: str, gid: str, dots: Sequence[Dot], rows: str) -> str:
    """The figure with tooltips for the marks of one group; unchanged where there are too many."""
    start = text.find(f'<g id="{gid}">')
    end = text.find("</g>", text.find("<g", start + 4))
    marks = text[start:end].split("<use ")
    if start < 0 or len(dots) > HOVER or len(marks) != len(dots) + 1:
        return text
    titled = (_mark(_STYLED.sub("", mark), dot, rows) for mark, dot in zip(marks[1:], dots, strict=True))
    style = _STYLED.search(marks[1]) if len(marks) > 1 else None
    head = f"{marks[0].rstrip().removesuffix('>')}{style[0]}>\n" if style else marks[0]
    return text[:start] + "".join([head, *titled]) + text[end:]


_PATH, _DIGITS = re.compile(r'(?<= d=")[^"]+'), re.compile(r"(?<=\.\d\d)\d+")
"""The course of a line, and the digits of its places beyond a hundredth of a point, which nobody sees."""
_STYLED = re.compile(r' style="[^"]*"')
"""The style that every mark of a group repeats. The group has it once, which a browser parses faster."""


def _mark(mark: str, dot: Dot, rows: str) -> str:
    to = f'data-row="{rows}t{dot.number}" ' if dot.number >= 0 else ""
    return f"<use {to}{mark.replace('/>', f'><title>{html.escape(dot.text)}</title></use>', 1)}"
