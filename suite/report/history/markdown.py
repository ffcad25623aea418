"""A history as tables in markdown: a row a build, a column a metric, the first value after a step in bold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suite.report import words
from suite.report.history import view
from suite.report.history.nouns import HistoryPage, LineView, Timeline
from suite.report.units import NONE, THIN


def render(page: HistoryPage) -> str:
    """A table a machine: its timelines in columns."""
    tables = []
    for machine in page.machines:
        found = [(timeline, line) for timeline in page.timelines for line in timeline.lines if line.machine == machine]
        if found:
            tables.append("\n".join(_table(found)))
    return "\n\n".join(tables) + "\n"


def _table(found: Sequence[tuple[Timeline, LineView]]) -> Iterator[str]:
    yield "| build | " + " | ".join(_plain(f"{timeline.scenario}: {words.label(timeline.metric)}") for timeline, _ in found) + " |"
    yield "| --- |" + " ---: |" * len(found)
    longest = max((timeline.builds for timeline, _ in found), key=len)
    for build in [*longest, *{one: None for timeline, _ in found for one in timeline.builds if one not in longest}]:
        yield f"| {_plain(build)} | " + " | ".join(_cell(timeline, line, build) for timeline, line in found) + " |"


def _cell(timeline: Timeline, line: LineView, build: str) -> str:
    values = [dot.value for dot in line.dots if dot.build == build]
    if not values:
        return NONE
    told = _plain(view.value(values[-1], timeline))
    return f"**{told}**" if any(step.build == build for step in line.steps) else told


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace(THIN, " ")
