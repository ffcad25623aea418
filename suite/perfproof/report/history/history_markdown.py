"""A history as tables in markdown: a row a build, a column a metric, the first value after a step in bold; then what the times did where
counts stepped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfproof.report.base import formatting
from perfproof.report.base.units import NONE, THIN
from perfproof.report.history import history_view
from perfproof.report.history.history_model import HistoryPage, LineView, Timeline

HEAD = ("| step of a count | between | count | time of the same two builds |", "| --- | --- | --- | --- |")


def render(page: HistoryPage) -> str:
    """A table a machine: its timelines in columns. One more for its counts' steps where the same builds were timed."""
    tables = []
    for machine in page.machines:
        found = [(timeline, line) for timeline in page.timelines for line in timeline.lines if line.machine == machine]
        if found:
            tables.append("\n".join(_table(found)))
            tables += ["\n".join(steps)] if len(steps := list(_steps(found))) > len(HEAD) else []
    return "\n\n".join(tables) + "\n"


def _table(found: Sequence[tuple[Timeline, LineView]]) -> Iterator[str]:
    yield "| build | " + " | ".join(_plain(f"{timeline.scenario}: {formatting.label(timeline.metric)}") for timeline, _ in found) + " |"
    yield "| --- |" + " ---: |" * len(found)
    longest = max((timeline.builds for timeline, _ in found), key=len)
    for build in [*longest, *{one: None for timeline, _ in found for one in timeline.builds if one not in longest}]:
        yield f"| {_plain(build)} | " + " | ".join(_cell(timeline, line, build) for timeline, line in found) + " |"


def _steps(found: Sequence[tuple[Timeline, LineView]]) -> Iterator[str]:
    yield from HEAD
    for timeline, line in found:
        for step in line.steps:
            if step.times:
                what = f"{timeline.scenario}: {formatting.label(timeline.metric)}"
                cells = (
                    what,
                    f"{step.last} to {step.build.rpartition(' ')[2]}",
                    history_view.levels(step, timeline),
                    "; ".join(step.times),
                )
                yield "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _cell(timeline: Timeline, line: LineView, build: str) -> str:
    values = [dot.value for dot in line.dots if dot.build == build]
    if not values:
        return NONE
    told = _plain(history_view.value(values[-1], timeline))
    return f"**{told}**" if any(step.build == build for step in line.steps) else told


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace(THIN, " ")
