"""A history as tables in markdown: one row per build, one column per metric, the first value after a step in bold.

Where counts have steps, a second table shows the times of the same builds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfproof.report.base import formatting
from perfproof.report.base.units import NONE, THIN
from perfproof.report.history import history_view
from perfproof.report.history.history_model import HistoryPage, LineView, Timeline

HEAD = ("| step of a count | between | count | time of the same two builds |", "| --- | --- | --- | --- |")


def render(page: HistoryPage) -> str:
    """One table per machine with its timelines in columns, and one more for steps of counts where the same builds were timed."""
    tables = []
    for machine in page.machines:
        columns = [(timeline, line) for timeline in page.timelines for line in timeline.lines if line.machine == machine]
        if columns:
            tables.append("\n".join(_table(columns)))
            tables += ["\n".join(steps)] if len(steps := list(_steps(columns))) > len(HEAD) else []
    return "\n\n".join(tables) + "\n"


def _table(columns: Sequence[tuple[Timeline, LineView]]) -> Iterator[str]:
    yield "| build | " + " | ".join(_plain(f"{timeline.scenario}: {formatting.label(timeline.metric)}") for timeline, _ in columns) + " |"
    yield "| --- |" + " ---: |" * len(columns)
    longest = max((timeline.builds for timeline, _ in columns), key=len)
    for build in [*longest, *{one: None for timeline, _ in columns for one in timeline.builds if one not in longest}]:
        yield f"| {_plain(build)} | " + " | ".join(_cell(timeline, line, build) for timeline, line in columns) + " |"


def _steps(columns: Sequence[tuple[Timeline, LineView]]) -> Iterator[str]:
    yield from HEAD
    for timeline, line in columns:
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
    text = _plain(history_view.value(values[-1], timeline))
    return f"**{text}**" if any(step.build == build for step in line.steps) else text


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace(THIN, " ")
