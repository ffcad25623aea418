"""The forest figure of the lead: a mark and an interval for each row, on one axis for small changes and one for large ones.

Small changes lie on a scale that is linear near "same" and logarithmic beyond, better to the right. Changes beyond a halving or a doubling
lie on a logarithmic one that begins at "same", so that the interval of a thousandfold win is as wide as that of a twofold one. Every
group of rows has its axis above it, and all groups of one sort share the scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from perfproof.report.base.lead_model import LeadGroup, LeadRow
from perfproof.report.figures import sparklines
from perfproof.report.figures.sparklines import Axis, betterment

WIDTH, HEIGHT, END = 300, 20, 7
"""Of a row, and the room kept free at both ends of the logarithmic scale."""
NARROW = 84
"""The width of a row on a telephone."""
_DECADES = (1, 10, 100, 1000, 10_000, 100_000)
_FEW = (1, 2, 3, 5, 10)
Mark = tuple[float, str]
"""A place on an axis that is `WIDTH` wide, and what stands there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A group as it is drawn: its axis for a wide screen and for a narrow one, "" where the group above has the same, and a strip for each
    row."""

    ruler: Markup
    narrow: Markup
    strips: tuple[Markup, ...]


def drawn(groups: Sequence[LeadGroup]) -> list[Drawn]:
    """The groups, on axes that those of one sort share."""
    near = Near(sparklines.axis([row.row for group in groups if not group.far for row in group.rows]))
    reach = max((_reach(row) for group in groups if group.far for row in group.rows), default=math.log(10))
    axes = [Far(reach, group) if group.far else near for group in groups]
    rulers = [(axis.ruler(), axis.narrow()) for axis in axes]
    above = [(Markup(""), Markup("")), *rulers[:-1]]
    none = (Markup(""), Markup(""))
    shown = (none if own == before else own for own, before in zip(rulers, above, strict=True))
    strips = (tuple(map(axis.strip, group.rows)) for axis, group in zip(axes, groups, strict=True))
    return [Drawn(ruler=wide, narrow=slim, strips=own) for (wide, slim), own in zip(shown, strips, strict=True)]


def _reach(one: LeadRow) -> float:
    """How far a row's change and interval go from "same", as a log ratio."""
    ends = (betterment(one.row, end) for end in (one.row.effect, one.row.low, one.row.high))
    return max((abs(end) for end in ends if end is not None and math.isfinite(end)), default=0.0)


class Near:
    """The scale of the verdict table: better to the right."""

    def __init__(self, axis: Axis) -> None:
        self._axis = axis

    def x(self, betterment_: float) -> float:
        return self._axis.x(betterment_) * WIDTH / sparklines.WIDTH

    def _marks(self) -> Iterator[tuple[float, Mark]]:
        """The marks of both sides, each with its ratio."""
        for ratio in self._axis.marks():
            yield from ((ratio, (self.x(sign * math.log(ratio)), _per_cent(ratio))) for sign in (-1, 1))

    def strip(self, one: LeadRow) -> Markup:
        row = one.row
        parts = [_line("tick", x, x, 0, HEIGHT) for _, (x, _) in self._marks()]
        if row.margin and not row.exact:
            left, right = self.x(-math.log1p(row.margin)), self.x(math.log1p(row.margin))
            parts.append(f'<rect class="band" x="{left:.1f}" y="0" width="{right - left:.1f}" height="{HEIGHT}"/>')
        return _strip(one, [*parts, _line("zero", WIDTH / 2, WIDTH / 2, 0, HEIGHT)], self.x)

    def ruler(self) -> Markup:
        marks = [(WIDTH / 2, "same"), *(mark for _, mark in self._marks())]
        return _ruler(marks, ("← worse", "better →"), "Scale: worse to the left, better to the right")

    def narrow(self) -> Markup:
        """The axis of a telephone: which side is better, and one mark on each side."""
        marks = [(ratio, mark) for ratio, mark in self._marks() if abs(mark[0] - WIDTH / 2) * NARROW / WIDTH > 20]
        least = min((ratio for ratio, _ in marks), default=0.0)
        shown = [(WIDTH / 2, "0"), *(mark for ratio, mark in marks if ratio == least)]
        return _narrow(shown, ("← worse", "better →"), "Scale: worse to the left, better to the right")


class Far:
    """A logarithmic scale from "same": how many times better, or worse. It has no other mark where every row goes to 0 or comes from it."""

    def __init__(self, reach: float, group: LeadGroup) -> None:
        self._reach = max(reach * 1.08, math.log(3))
        self._way = "better" if all((betterment(row.row, row.row.effect) or 0) > 0 for row in group.rows) else "worse"
        self._marks: list[Mark] = [
            (self.x(math.log(mark)), "same" if mark == 1 else f"{mark:,g}×")
            for mark in (_DECADES if self._reach > math.log(50) else _FEW)
            if math.log(mark) <= self._reach and (mark == 1 or any(map(_reach, group.rows)))
        ]

    def x(self, betterment_: float) -> float:
        """The place of a log ratio: to the right of "same" for the better, to the left for the worse."""
        size = END + min(abs(betterment_), self._reach) / self._reach * (WIDTH - 2 * END)
        return size if self._way == "better" else WIDTH - size

    def strip(self, one: LeadRow) -> Markup:
        ticks = [_line("tick", x, x, 0, HEIGHT) for x, _ in self._marks[1:]]
        return _strip(one, [*ticks, _line("zero", self.x(0), self.x(0), 0, HEIGHT)], self.x)

    def _sides(self, times: str) -> tuple[str, str]:
        return ("", f"{times}better →") if self._way == "better" else (f"← {times}worse", "")

    def ruler(self) -> Markup:
        return _ruler(self._marks, self._sides("times "), f"Logarithmic scale from same on: how many times {self._way}")

    def narrow(self) -> Markup:
        """The axis of a telephone: which way it goes, and marks that have room."""
        shown: list[Mark] = []
        for x, told in self._marks:
            if not shown or abs(x - shown[-1][0]) * NARROW / WIDTH > 26:
                shown.append((x, "1×" if told == "same" else told))
        return _narrow(shown, self._sides(""), f"Logarithmic scale from same on: how many times {self._way}")


def _ruler(marks: Sequence[Mark], sides: tuple[str, str], label: str) -> Markup:
    """An axis in two lines: which side is which, and every mark."""
    parts = [f'<text class="side" x="2" y="9" style="text-anchor:start">{sides[0]}</text>'] if sides[0] else []
    parts += [f'<text class="side" x="{WIDTH - 2}" y="9" style="text-anchor:end">{sides[1]}</text>'] if sides[1] else []
    parts += [f'<text x="{min(max(x, 14), WIDTH - 14):.1f}" y="21">{told}</text>' for x, told in marks]
    return sparklines.drawn(WIDTH, 24, "ruler", label, parts)


def _narrow(marks: Sequence[Mark], sides: tuple[str, str], label: str) -> Markup:
    """An axis for a telephone in two lines: which side is which, and the marks with their ticks."""
    parts = [f'<text class="side" x="0" y="8" style="text-anchor:start">{sides[0]}</text>'] if sides[0] else []
    parts += [f'<text class="side" x="{NARROW}" y="8" style="text-anchor:end">{sides[1]}</text>'] if sides[1] else []
    for x, told in marks:
        at = x * NARROW / WIDTH
        parts.append(f'<text x="{min(max(at, 7), NARROW - 9):.1f}" y="18">{told}</text>{_line("tick", at, at, 20, 23)}')
    parts.append(_line("tick", 0, NARROW, 23, 23))
    return sparklines.drawn(NARROW, 24, "ruler narrow-ruler", label, parts)


def _per_cent(ratio: float) -> str:
    return f"{ratio:g}×" if ratio >= 2 else f"{100 * (ratio - 1):.0f} %"


def _line(kind: str, x1: float, x2: float, y1: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1}" y2="{y2}"/>'


def _strip(one: LeadRow, parts: list[str], x: Callable[[float], float]) -> Markup:
    """The interval with its ends marked, however narrow it is, and the change as a dot, as a diamond where it was counted; as an arrow at
    the edge where it goes to 0 or comes from it."""
    row, middle = one.row, HEIGHT / 2
    known = sorted(x(end) for end in (betterment(row, end) for end in (row.low, row.high)) if end is not None)
    mean = betterment(row, row.effect)
    if len(known) == 2 and (mean is None or math.isfinite(mean)):
        parts.append(_line("interval", known[0], known[1], middle, middle))
        parts += [_line("interval end", at, at, middle - 5, middle + 5) for at in known]
    if mean is not None:
        dot = sparklines.mark(max(sparklines.END, min(WIDTH - sparklines.END, x(mean))), middle, row)
        parts.append(dot if math.isfinite(mean) else sparklines.gone(mean, WIDTH, middle, row))
    where = ", ".join(filter(None, (one.where, one.model)))
    label = f"{one.name} of {where}{f' against {one.against}' if one.against else ''}: {one.word}, {one.number} {one.interval}".strip()
    return sparklines.drawn(WIDTH, HEIGHT, f"strip {one.look}", label, parts)
