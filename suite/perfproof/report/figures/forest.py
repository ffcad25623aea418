"""The forest figure of the lead: a mark and an interval for each row, on one axis for small changes and one for large ones.

Small changes lie on a scale that is linear near "same" and logarithmic beyond, better to the right. Changes beyond a halving or a doubling
lie on a logarithmic one that begins at "same", so that the interval of a thousandfold win is as wide as that of a twofold one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from markupsafe import Markup

from perfproof.report.base.lead_model import LeadGroup, LeadRow
from perfproof.report.figures import sparklines
from perfproof.report.figures.sparklines import Axis, betterment, drawn

WIDTH, HEIGHT, END = 300, 20, 7
"""Of a row, and the room kept free at both ends of the logarithmic scale."""
_DECADES = (1, 10, 100, 1000, 10_000, 100_000)
_FEW = (1, 2, 3, 5, 10)


def rows(group: LeadGroup) -> list[Markup]:
    """A strip for each row of a group, on its axis."""
    axis = _axis(group)
    return [axis.strip(row) for row in group.rows]


def ruler(group: LeadGroup) -> Markup:
    """The axis of a group, with its marks."""
    return _axis(group).ruler()


def _axis(group: LeadGroup) -> Near | Far:
    shown = [row.row for row in group.rows]
    if not group.far:
        return Near(sparklines.axis(shown))
    ends = [betterment(row, end) for row in shown for end in (row.effect, row.low, row.high)]
    reach = max((abs(end) for end in ends if end is not None and math.isfinite(end)), default=math.log(10))
    better = {sign for row in shown if (mean := betterment(row, row.effect)) for sign in [mean > 0]}
    return Far(max(reach * 1.08, math.log(3)), better)


class Near:
    """The scale of the verdict table: better to the right."""

    def __init__(self, axis: Axis) -> None:
        self._axis = axis

    def x(self, betterment_: float) -> float:
        return self._axis.x(betterment_) * WIDTH / sparklines.WIDTH

    def strip(self, one: LeadRow) -> Markup:
        row = one.row
        parts = [_line("zero", WIDTH / 2, WIDTH / 2, 0, HEIGHT)]
        if row.margin and not row.exact:
            left, right = self.x(-math.log1p(row.margin)), self.x(math.log1p(row.margin))
            parts.insert(0, f'<rect class="band" x="{left:.1f}" y="0" width="{right - left:.1f}" height="{HEIGHT}"/>')
        return _drawn(one, parts, self.x)

    def ruler(self) -> Markup:
        parts = [f'<text x="{WIDTH / 2}" y="11">same</text>']
        for ratio in self._axis.marks():
            places = (self.x(sign * math.log(ratio)) for sign in (-1, 1))
            parts += [f'<text x="{place:.1f}" y="11">{_per_cent(ratio)}</text>' for place in places if _fits(place)]
        for x, anchor, side in ((2, "start", "← worse"), (WIDTH - 2, "end", "better →")):
            parts.append(f'<text class="side" x="{x}" y="11" style="text-anchor:{anchor}">{side}</text>')
        return drawn(WIDTH, 15, "ruler", "Scale: worse to the left, better to the right", parts)


def _fits(x: float) -> bool:
    """Whether a mark leaves the words at the ends of the axis room."""
    return 70 < x < WIDTH - 70


class Far:
    """A logarithmic scale from "same": how many times better, or worse."""

    def __init__(self, reach: float, better: set[bool]) -> None:
        self._reach, self._better = reach, better

    def x(self, betterment_: float) -> float:
        size = min(abs(betterment_), self._reach)
        return END + size / self._reach * (WIDTH - 2 * END)

    def strip(self, one: LeadRow) -> Markup:
        return _drawn(one, [_line("zero", END, END, 0, HEIGHT)], self.x)

    def ruler(self) -> Markup:
        marks = _DECADES if self._reach > math.log(50) else _FEW
        way = {frozenset([True]): "better", frozenset([False]): "worse"}.get(frozenset(self._better), "apart")
        end = f"times {way} →"
        shown = [(mark, self.x(math.log(mark))) for mark in marks if math.log(mark) <= self._reach]
        parts = [
            f'<text x="{max(x, 14):.1f}" y="11">{"same" if mark == 1 else f"{mark:,g}×"}</text>' for mark, x in shown if x < WIDTH - 85
        ]
        parts.append(f'<text class="side" x="{WIDTH - 2}" y="11" style="text-anchor:end">{end}</text>')
        return drawn(WIDTH, 15, "ruler", f"Logarithmic scale from same on: how many times {way}", parts)


def _per_cent(ratio: float) -> str:
    return f"{ratio:g}×" if ratio >= 2 else f"{100 * (ratio - 1):.0f} %"


def _line(kind: str, x1: float, x2: float, y1: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1}" y2="{y2}"/>'


def _drawn(one: LeadRow, parts: list[str], x: Callable[[float], float]) -> Markup:
    """The interval with its ends marked, however narrow it is, and the change as a dot, as a diamond where it was counted."""
    row, middle = one.row, HEIGHT / 2
    known = sorted(x(end) for end in (betterment(row, end) for end in (row.low, row.high)) if end is not None)
    if len(known) == 2:
        parts.append(_line("interval", known[0], known[1], middle, middle))
        parts += [_line("interval end", at, at, middle - 5, middle + 5) for at in known]
    mean = betterment(row, row.effect)
    if mean is not None:
        parts.append(sparklines.mark(max(sparklines.END, min(WIDTH - sparklines.END, x(mean))), middle, row))
    label = f"{one.name} of {one.where}{f' against {one.against}' if one.against else ''}: {one.word}, {one.number} {one.interval}".strip()
    return drawn(WIDTH, HEIGHT, f"strip {one.look}", label, parts)
