"""The figures: trials by block, as SVG whose text is text and whose colours are the page's own.

The only user of matplotlib. A figure is drawn in stand-in colours that are then exchanged for the page's CSS variables, so
that it follows light, dark and print; ids are prefixed, so that any number of figures share one page. Titles are the caption's
business: they state the finding, and are HTML.
"""

from __future__ import annotations

import html
import io
import logging
import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from suite.report import units, words
from suite.report.nouns import Row, TrialView
from suite.report.units import THIN

INK, MUTED, HAIR, BASELINE, CANDIDATE, BAND, PAPER = "#0a0b01", "#0a0b02", "#0a0b03", "#0a0b04", "#0a0b05", "#0a0b06", "#0a0b07"
_COLOURS = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    HAIR: "var(--hair)",
    BASELINE: "var(--baseline)",
    CANDIDATE: "var(--candidate)",
    BAND: "var(--band)",
    PAPER: "var(--paper)",
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
HOVER = 400
"""Most trials of a figure whose dots each say their value when pointed at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A trial in the figure: `x` is the block with the place in it, `y` its value or None where it left none.

    `number` is the trial's place in the scenario's table, or -1 for what is not one trial.
    """

    number: int
    block: int
    x: float
    y: float | None
    ok: bool
    baseline: bool
    text: str

    @property
    def kind(self) -> str:
        return "lost" if self.y is None else "counted" if self.ok else "spoilt"


Hover = dict[str, list[Dot]]
"""The dots behind every group of marks, in the order of drawing."""


def trials(row: Row, found: Sequence[TrialView], name: str, rows: str) -> str:
    """Both arms' values by block, in the order of running, and beside them each block's change against margin and interval.

    `name` must be unique within the page; `rows` begins the ids of the table's rows, which a trial's number ends.
    Returns an `<svg>` element.
    """
    dots = place(row, found)
    style: Any = _STYLE | {"svg.hashsalt": name}
    with mpl.rc_context(style), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
        figure = Figure(figsize=(12.4, 2.9))
        FigureCanvasSVG(figure)
        left, right = figure.subplots(1, 2, width_ratios=(2.6, 1))
        figure.subplots_adjust(left=0.062, right=0.997, top=0.97, bottom=0.18, wspace=0.17)
        hover = _values(left, row, dots)
        hover |= _changes(right, row, dots)
        return as_svg(figure, name, label_of(row, dots), hover, rows)


def place(row: Row, found: Sequence[TrialView]) -> list[Dot]:
    """The trials of the row's two arms, each at its block and its place within the block."""
    most = max((trial.position for trial in found), default=0) + 1
    dots = []
    for number, trial in enumerate(found):
        if trial.arm not in (row.baseline, row.candidate):
            continue
        value = trial.values.get(row.metric)
        shown = value if value is not None and math.isfinite(value) else None
        x = trial.block + (trial.position - (most - 1) / 2) * min(0.3, 0.6 / most)
        said = units.quantity(shown, row.unit) if shown is not None else "no value"
        status = "" if trial.ok else f"; {trial.status}: {trial.reason or 'no reason was given'}"
        text = f"block {trial.block}, place {trial.position + 1}, {trial.arm}: {said}{status}"
        dots.append(Dot(number=number, block=trial.block, x=x, y=shown, ok=trial.ok, baseline=trial.arm == row.baseline, text=text))
    return dots


def label_of(row: Row, dots: Sequence[Dot]) -> str:
    spoilt = sum(not dot.ok for dot in dots)
    return (
        f"{words.claim(row)}. {len(dots)} trials by block; {words.direction(row.better)}. "
        + (f"{spoilt} of them do not count. " if spoilt else "")
        + "The table below holds every value."
    )


def _values(axes: Axes, row: Row, dots: Sequence[Dot]) -> Hover:
    scale = units.scale([dot.y for dot in dots if dot.y is not None], row.unit)
    known = [dot.y / scale.factor for dot in dots if dot.y is not None]
    wide = bool(known) and min(known) > 0 and max(known) / min(known) > 8
    axes.set_yscale("log" if wide else "linear")
    _joined(axes, _pairs(dots), scale.factor)
    hover: Hover = {}
    for baseline in (True, False):
        for kind in ("counted", "spoilt", "lost"):
            hover |= _dots(axes, [dot for dot in dots if dot.baseline is baseline and dot.kind == kind], scale.factor)
    axes.set_ylabel(f"{scale.name or 'count'}   ({words.direction(row.better)})" + (", log" if wide else ""))
    axes.set_xlabel("block; within it, the order of running")
    _limits(axes, known, wide, dots)
    return hover


def _joined(axes: Axes, pairs: Sequence[tuple[Dot, Dot]], factor: float) -> None:
    """A line from the baseline to the candidate of every block, as one broken line."""
    xs = [x for first, second in pairs for x in (first.x, second.x, math.nan)]
    ys = [y for first, second in pairs for y in ((first.y or 0) / factor, (second.y or 0) / factor, math.nan)]
    axes.plot(xs, ys, color=HAIR, lw=1.1, zorder=1)


def _limits(axes: Axes, known: Sequence[float], wide: bool, dots: Sequence[Dot]) -> None:
    if known:
        low, high = min(known), max(known)
        pad = 0.12 * (high - low) or 0.05 * (abs(high) or 1)
        axes.set_ylim((low / 1.8, high * 1.8) if wide else (low - 1.6 * pad, high + pad))
    axes.set_xlim(min((dot.block for dot in dots), default=1) - 0.6, max((dot.block for dot in dots), default=1) + 0.6)
    axes.set_xticks(_few(sorted({dot.block for dot in dots}), 12))
    if not wide:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: units.signed_minus(f"{value:,g}")))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))


def _dots(axes: Axes, dots: list[Dot], factor: float) -> Hover:
    """Dots of one arm and kind: filled if they count, hollow if not, hollow crosses at the foot if they left no value."""
    if not dots:
        return {}
    baseline, kind = dots[0].baseline, dots[0].kind
    colour, lost = (BASELINE if baseline else CANDIDATE), kind == "lost"
    (marks,) = axes.plot(
        [dot.x for dot in dots],
        [0.03 if dot.y is None else dot.y / factor for dot in dots],
        transform=axes.get_xaxis_transform() if lost else axes.transData,
        marker="X" if lost else "o" if baseline else "D",
        markersize=7.5 if lost else 6.4 if baseline else 6,
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


def _pairs(dots: Sequence[Dot]) -> list[tuple[Dot, Dot]]:
    """The blocks in which both arms left a value, baseline first."""
    of_block: dict[int, dict[bool, Dot]] = {}
    for dot in dots:
        if dot.y is not None:
            of_block.setdefault(dot.block, {})[dot.baseline] = dot
    return [(found[True], found[False]) for _, found in sorted(of_block.items()) if len(found) == 2]


def _changes(axes: Axes, row: Row, dots: Sequence[Dot]) -> Hover:
    """Each block's change, the margin as a band, the interval as a bar; a log axis of ratios marked in per cent."""
    if row.margin:
        axes.axhspan(-math.log1p(row.margin), math.log1p(row.margin), color=BAND, lw=0, zorder=0)
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
    changes = [_change(first, second) for first, second in _pairs(dots) if (first.y or 0) > 0 and (second.y or 0) > 0]
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
        _interval(axes, row, whole)
    axes.set_xlim(blocks[0] - 0.8, whole + 0.9)
    ticks = [*_few(blocks, 5), whole]
    axes.set_xticks(ticks, [*(str(block) for block in ticks[:-1]), "all"])
    axes.set_xlabel("change in each block, and over all")
    low, high = axes.get_ylim()
    marked = nice_changes(math.expm1(low), math.expm1(high))
    axes.set_yticks([math.log1p(change) for change in marked], [_tick(change) for change in marked])
    axes.set_ylim(low, high)
    return hover


def _change(first: Dot, second: Dot) -> Dot:
    """A block's change from baseline to candidate, as a dot whose `y` is the log ratio."""
    ratio, ok = (second.y or 1) / (first.y or 1), first.ok and second.ok
    text = f"block {first.block}: {words.per_cent(ratio - 1)}" + ("" if ok else ", not counted")
    return Dot(number=-1, block=first.block, x=first.block, y=math.log(ratio), ok=ok, baseline=False, text=text)


def _few(blocks: Sequence[int], most: int) -> list[int]:
    """Some of the blocks, evenly spaced, the first among them."""
    return list(blocks[:: max(1, math.ceil(len(blocks) / most))])


def nice_changes(low: float, high: float) -> list[float]:
    """Round changes between two fractions to mark an axis with: even steps near nothing, else halves, tenths, hundredths and multiples."""
    if math.log1p(high) - math.log1p(low) < 1:
        return [
            float(round(change, 9))
            for change in MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
            if low <= change <= high
        ]
    ratios = [scale * step for scale in (10.0**power for power in range(-9, 9)) for step in (1, 2, 5)]
    inside = [ratio - 1 for ratio in ratios if low <= ratio - 1 <= high]
    return inside if len(inside) <= 5 else [ratio for ratio in inside if math.log10(1 + ratio) % 1 < 1e-9]


def _tick(change: float) -> str:
    """A round change, without decimals that it does not need."""
    text = f"{100 * change:+,.3f}".rstrip("0").rstrip(".")
    return units.signed_minus("0" if float(text.replace(",", "")) == 0 else text) + f"{THIN}%"


def _interval(axes: Axes, row: Row, x: float) -> None:
    if row.low is not None and row.high is not None and row.low > -1:
        axes.plot([x, x], [math.log1p(row.low), math.log1p(row.high)], color=CANDIDATE, lw=2.2, solid_capstyle="butt", zorder=2)
    axes.plot([x], [math.log1p(row.effect or 0)], marker="D", markersize=6.5, color=CANDIDATE, linestyle="none", zorder=3)


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
    for gid, dots in hover.items():
        text = _told(text, gid, dots, rows)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(url\(#|href="#)', rf"\1{name}-", text)
    box = re.search(r'viewBox="([^"]+)"', text)
    head = f'<svg class="figure" viewBox="{box.group(1) if box else "0 0 662 180"}" role="img" aria-label="{html.escape(label)}">'
    return re.sub(r"\n\s*", "\n", head + text[text.index(">") + 1 :])


def _told(text: str, gid: str, dots: Sequence[Dot], rows: str) -> str:
    """The figure with the marks of one group saying what they are when pointed at; untouched where they are too many."""
    start = text.find(f'<g id="{gid}">')
    end = text.find("</g>", text.find("<g", start + 4))
    marks = text[start:end].split("<use ")
    if start < 0 or len(dots) > HOVER or len(marks) != len(dots) + 1:
        return text
    said = (_mark(mark, dot, rows) for mark, dot in zip(marks[1:], dots, strict=True))
    return text[:start] + "".join([marks[0], *said]) + text[end:]


def _mark(mark: str, dot: Dot, rows: str) -> str:
    to = f'data-row="{rows}t{dot.number}" ' if dot.number >= 0 else ""
    return f"<use {to}{mark.replace('/>', f'><title>{html.escape(dot.text)}</title></use>', 1)}"
