"""Small multiples: every metric of a history on one strip a screen wide, all over the same releases, with its steps marked.

Strips share their axis of releases, so that what changed together stands in one column. Each has its own scale of values: the strip shows
when a metric changed, its figure below by how much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from perfproof.report.base import formatting
from perfproof.report.figures.sparklines import drawn
from perfproof.report.history import history_view
from perfproof.report.history.history_model import DotView, HistoryPage, LineView, Timeline

WIDTH, HEIGHT, HEAD = 760, 40, 52
"""Of a strip, and the height of the axis of releases above all of them."""
TOP, FOOT = 13, 5
"""The room of a strip above its curve, for the sizes of steps, and below it."""
SIDE = 16
"""The room at both ends."""
WIDE = 8.0
"""The ratio of the ends from which a strip is logarithmic."""
MOST_NAMED = 40
"""The most releases that are named; of more, an even sample is."""


def axis(page: HistoryPage) -> Markup:
    """The releases, named at their places."""
    every = -(-len(page.builds) // MOST_NAMED)
    parts = [
        f'<text transform="translate({_x(page, place) + 3:.1f} {HEAD - 4}) rotate(-50)">{escape(name)}</text>'
        for place, name in enumerate(page.short)
        if place % every == 0
    ]
    return drawn(WIDTH, HEAD, "releases", f"Builds: {', '.join(page.builds)}", parts)


def strip(page: HistoryPage, timeline: Timeline, colours: dict[str, int]) -> Markup:
    """One metric over the builds: its levels as a curve, its points, and a line at every step with its size."""
    dots = [dot for line in timeline.lines for dot in line.dots]
    y = _Height(dots)
    parts = [part for line in timeline.lines for part in _line(page, timeline, line, y, "abc"[min(colours[line.machine], 2)])]
    parts += _steps(page, timeline)
    label = f"{formatting.label(timeline.metric)} of {timeline.scenario}: {history_view.summary(timeline)}"
    return drawn(WIDTH, HEIGHT, "multiple", label, parts)


class _Height:
    """The place of a value in a strip, by ratios where the ends are far apart."""

    def __init__(self, dots: Sequence[DotView]) -> None:
        self._low, self._high = min(dot.value for dot in dots), max(dot.value for dot in dots)
        self._wide = self._low > 0 and self._high / self._low > WIDE

    def __call__(self, value: float) -> float:
        if self._high <= self._low:
            return (TOP + HEIGHT - FOOT) / 2
        whole = math.log(self._high / self._low) if self._wide else self._high - self._low
        share = (math.log(value / self._low) if self._wide else value - self._low) / whole
        return HEIGHT - FOOT - share * (HEIGHT - FOOT - TOP)


def _x(page: HistoryPage, place: float) -> float:
    return SIDE + (place + 0.5) * (WIDTH - 2 * SIDE) / max(1, len(page.builds))


def _place(page: HistoryPage, timeline: Timeline, place: int) -> int:
    """The place of a timeline's build among all builds of the page."""
    return page.builds.index(timeline.builds[place])


def _line(page: HistoryPage, timeline: Timeline, line: LineView, y: _Height, kind: str) -> list[str]:
    spots = [(_x(page, _place(page, timeline, dot.place)), y(dot.value)) for dot in line.dots]
    path = "L".join(f"{x:.1f} {height:.1f}" for x, height in spots)
    marks = "".join(f"M{x:.1f} {height:.1f}h0" for x, height in spots)
    return [f'<path class="curve {kind}" d="M{path}"/>', f'<path class="points {kind}" d="{marks}"/>'] if spots else []


def _steps(page: HistoryPage, timeline: Timeline) -> list[str]:
    """A line at every step that stands, with its size; dashed where it was accepted."""
    parts: list[str] = []
    for _, step in timeline.steps:
        if step.state == "refuted":
            continue
        x = (_x(page, _place(page, timeline, step.place)) + _x(page, _before(page, timeline, step.place))) / 2
        kind = "accepted" if step.state == "accepted" else "regressed" if step.worse else "improved"
        at, anchor = (x - 4, "end") if x > 0.9 * WIDTH else (x + 4, "start")
        told = history_view.size(step) or history_view.way(step)
        parts.append(f'<line class="step {kind}" x1="{x:.1f}" x2="{x:.1f}" y1="1" y2="{HEIGHT - 2}"/>')
        parts.append(f'<text class="{kind}" x="{at:.1f}" y="9" text-anchor="{anchor}">{escape(told)}</text>')
    return parts


def _before(page: HistoryPage, timeline: Timeline, place: int) -> int:
    return _place(page, timeline, max(0, place - 1))
