"""Word-sized graphics for table cells, written as SVG by hand: one change with its margin, or one dot per trial.

They share one scale down the table, so that their column is a forest plot and the table its data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import SignalView, TrialView

WIDTH, HEIGHT = 250, 22
_MARKS = (1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 30, 100, 300, 1000, 10_000)
_KNEE, END = 0.02, 6
"""The scale is linear within ±2 % and logarithmic beyond; marks keep this distance from its ends, where changes to zero lie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Ratios from `1/reach` (left, worse) to `reach` (right, better), on a scale linear near 1 and logarithmic beyond."""

    reach: float

    def x(self, betterment: float) -> float:
        """The place of a log ratio that is positive where the candidate is better; values beyond the scale lie at its end."""
        most = math.asinh(math.log(self.reach) / _KNEE)
        return WIDTH / 2 * (1 + max(-1.0, min(1.0, math.asinh(betterment / _KNEE) / most)))

    def marks(self) -> list[float]:
        """The ratios with a mark on either side, far enough apart to be legible."""
        found: list[float] = []
        for ratio in _MARKS:
            left = self.x(math.log(found[-1])) if found else WIDTH / 2 + 4
            if ratio < self.reach and self.x(math.log(ratio)) - left >= 27 and self.x(math.log(ratio)) <= WIDTH - 10:
                found.append(ratio)
        return found


def betterment(row: Judged, change: float | None) -> float | None:
    """The log ratio of a change, positive where the candidate is better, infinite for a change to zero; None without a change."""
    if change is None or math.isnan(change):
        return None
    return (math.log1p(change) if change > -1 else -math.inf) * (-1 if row.better == "lower" else 1)


def axis(rows: Iterable[Judged]) -> Axis:
    """One axis on which every interval of these rows fits."""
    ends = [betterment(row, change) for row in rows for change in (row.effect, row.low, row.high)]
    reach = max((abs(end) for end in ends if end is not None and math.isfinite(end)), default=0.0)
    return Axis(reach=math.exp(max(reach * 1.25, 0.06)))


def forest(row: Judged, scale: Axis, bound: float | None = None, look: str = "", word: str = "") -> Markup:
    """The change as a dot, its interval as a line (thick from the deciding bound on), the margin as a band, no change as a hairline.

    `look` and `word` are those of the row where they are not its verdict's own.
    """
    middle, mean = HEIGHT / 2, betterment(row, row.effect)
    parts = [f'<line class="zero" x1="{WIDTH / 2}" x2="{WIDTH / 2}" y1="0" y2="{HEIGHT}"/>']
    if row.margin and not row.exact:
        left, right = scale.x(-math.log1p(row.margin)), scale.x(math.log1p(row.margin))
        parts.insert(0, f'<rect class="band" x="{left:.1f}" y="0" width="{right - left:.1f}" height="{HEIGHT}"/>')
    ends = [betterment(row, end) for end in (row.low, row.high)]
    known = sorted(scale.x(end) for end in ends if end is not None)
    if len(known) == 2 and (mean is None or math.isfinite(mean)):
        parts.append(f'<line class="interval" x1="{known[0]:.1f}" x2="{known[1]:.1f}" y1="{middle}" y2="{middle}"/>')
    decides = betterment(row, bound) if row.verdict == "equivalent" else None
    if decides is not None and mean is not None:
        parts.append(f'<line class="bound" x1="{scale.x(decides):.1f}" x2="{scale.x(mean):.1f}" y1="{middle}" y2="{middle}"/>')
    if mean is not None:
        dot = mark(max(END, min(WIDTH - END, scale.x(mean))), middle, row)
        parts.append(dot if math.isfinite(mean) else gone(mean, WIDTH, middle, row))
    label = (
        f"{formatting.label(row.metric)}: {formatting.change(row)} {formatting.interval(row)}, margin "
        f"{formatting.margin(row)}, {word or formatting.verdict(row)}"
    )
    return drawn(WIDTH, HEIGHT, f"strip {look or formatting.look(row.verdict, row.suggests)}", label, parts)


def mark(x: float, y: float, row: Judged) -> str:
    """A filled mark for a settled verdict; a hollow one for inconclusive, untestable and exploratory."""
    if row.exact:
        return f'<path class="mark" d="M{x:.1f} {y - 4.5}l4.5 4.5-4.5 4.5-4.5-4.5z"/>'
    return f'<circle class="mark" cx="{x:.1f}" cy="{y}" r="3.6"/>'


def gone(betterment_: float, width: float, y: float, row: Judged) -> str:
    """An arrow at the edge, with "to 0" or "from 0": a change that has no ratio, and so no place on the axis."""
    edge, way = (width - 1, -1) if betterment_ > 0 else (1, 1)
    told = "to 0" if row.effect is not None and row.effect <= -1 else "from 0"
    arrow = f'<path class="mark" d="M{edge:.1f} {y:.1f}l{7 * way} -4.5v9z"/>'
    anchor = "end" if way < 0 else "start"
    return f'{arrow}<text class="gone" x="{edge + 14 * way:.1f}" y="{y:.1f}" style="text-anchor:{anchor}">{told}</text>'


def ruler(scale: Axis) -> Markup:
    """The header of the column: ratios on both sides, and which side is better."""
    parts = [f'<text x="{WIDTH / 2}" y="27">same</text>']
    for ratio in scale.marks():
        for sign in (-1, 1):
            x = scale.x(sign * math.log(ratio))
            parts.append(f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="30" y2="34"/><text x="{x:.1f}" y="27">{ratio:g}×</text>')
    for x, anchor, side in ((2, "start", "← worse"), (WIDTH - 2, "end", "better →")):
        parts.append(f'<text class="side" x="{x}" y="11" style="text-anchor:{anchor}">{side}</text>')
    return drawn(WIDTH, 34, "ruler", "Scale of the changes: worse to the left, better to the right", parts)


DOTS_WIDTH = 96
MOST_DOTS = 300
"""The most dots in a strip; of more trials, an even sample is drawn."""


def dots(row: Judged, trials: Sequence[TrialView], turned: bool = False) -> Markup:
    """Every trial of both arms, one line per arm, the baseline above; hollow dots do not count. Of a row that is `turned` the arms keep the
    colours that they have without.

    Trials on the same spot are one dot, which counts if any of them does.
    """
    lines = {row.baseline: ("b" if turned else "a", 6), row.candidate: ("a" if turned else "b", 16)}
    shown = [(trial, trial.values[row.metric]) for trial in trials if trial.arm in lines and row.metric in trial.values]
    shown = [(trial, value) for trial, value in shown if math.isfinite(value)]
    if not shown:
        return Markup("")
    low, high = min(value for _, value in shown), max(value for _, value in shown)
    wide = low > 0 and high / low > 8
    thinned = shown[:: max(1, -(-len(shown) // MOST_DOTS))]
    counted: dict[str, list[str]] = {"a": [], "b": []}
    spoilt = []
    for trial, value in thinned:
        kind, y = lines[trial.arm]
        x = f"{4 + _share(value, low, high, wide) * (DOTS_WIDTH - 8):.0f}"
        if trial.ok:
            counted[kind].append(f"M{x} {y}h0")
        else:
            spoilt.append(f'<circle cx="{x}" cy="{y}" r="2.5"/>')
    parts = [*spoilt, *(f'<path class="{kind}" d="{"".join(dict.fromkeys(marks))}"/>' for kind, marks in counted.items() if marks)]
    ends = f"from {units.quantity(low, row.unit)} to {units.quantity(high, row.unit)}{', logarithmic' if wide else ''}"
    return drawn(DOTS_WIDTH, HEIGHT, "dots", f"{len(shown)} trials {ends}; above {row.baseline}, below {row.candidate}", parts)


COURSE_WIDTH = 460
MOST_BARS = 400
"""The most trials in a strip of readings; of more, an even sample is drawn."""


def course(view: SignalView, trials: Sequence[TrialView], arms: Sequence[str]) -> Markup:
    """One reading per trial, in their order: a bar from the lowest to the highest value, in the arm's colour; rings do not count."""
    known = [(place, trial, span) for place, (trial, span) in enumerate(zip(trials, view.spans, strict=True)) if span is not None]
    shown = known[:: max(1, -(-len(known) // MOST_BARS))]
    low, high = min(span[0] for _, _, span in known), max(span[1] for _, _, span in known)
    bars: dict[str, list[str]] = {"a": [], "b": [], "c": []}
    rings = []
    for place, trial, span in shown:
        x = f"{4 + (place + 0.5) / len(trials) * (COURSE_WIDTH - 8):.1f}"
        bottom, top = (HEIGHT - 4 - _share(end, low, high, False) * (HEIGHT - 8) for end in span)
        if trial.ok:
            kind = "abc"[min(arms.index(trial.arm), 2)] if trial.arm in arms else "c"
            bars[kind].append(f"M{x} {bottom:.1f}" + ("h0" if bottom - top < 0.05 else f"V{top:.1f}"))
        else:
            rings.append(f'<circle cx="{x}" cy="{top:.1f}" r="2.5"/>')
    thick = " many" if len(shown) > 100 else ""
    parts = [*(f'<path class="{kind}" d="{"".join(marks)}"/>' for kind, marks in bars.items() if marks), *rings]
    ends = f"from {units.quantity(low, view.unit)} to {units.quantity(high, view.unit)}"
    return drawn(COURSE_WIDTH, HEIGHT, f"dots course{thick}", f"{view.name} beside {len(known)} trials, {ends}", parts)


def _share(value: float, low: float, high: float, wide: bool) -> float:
    """The place of a value between the ends, from 0 to 1; by ratios where the ends are far apart."""
    if high <= low:
        return 0.5
    return math.log(value / low) / math.log(high / low) if wide else (value - low) / (high - low)


def drawn(width: int, height: int, kind: str, label: str, parts: Sequence[str]) -> Markup:
    """A graphic with its description in words; `parts` are markup of ours."""
    head = Markup('<svg class="{}" width="{}" height="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        kind, width, height, width, height, label
    )
    return head + Markup("".join(parts)) + Markup("</svg>")  # noqa: S704  (numbers of ours alone)
