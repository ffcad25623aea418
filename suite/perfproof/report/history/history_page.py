"""The history's page as one file that needs no network."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from perfproof.report.history import history_figures, history_strips, history_view
from perfproof.report.history.history_model import HistoryPage, Timeline
from perfproof.report.html import shell

MOST_STRIPS = 12
"""The most strips of a scenario among the small multiples; its further metrics have figures alone."""
MOST_FIGURES = 60
"""The most figures on a page; further timelines have only their tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A timeline, its figure ("" where there are too many), and the prefix of the ids of its table's rows."""

    timeline: Timeline
    svg: Markup
    rows: str


def render(page: HistoryPage) -> str:
    """The whole page as one HTML document."""
    colours = {machine: place for place, machine in enumerate(page.machines)}
    drawn = [_drawn(number, timeline, colours) for number, timeline in enumerate(page.timelines, 1)]
    groups = [(scenario, [one for one in drawn if one.timeline.scenario == scenario]) for scenario in page.scenarios]
    every = [(timeline, line, step) for timeline in page.timelines for line, step in timeline.steps]
    every.sort(key=lambda found: not found[2].worse)
    standing = [found for found in every if found[2].state != "accepted"]
    accepted = [found for found in every if found[2].state == "accepted"]
    return shell(
        "history.html",
        page=page,
        groups=groups,
        standing=standing,
        accepted=accepted,
        view=history_view,
        strips=history_strips,
        most_strips=MOST_STRIPS,
        colours=colours,
    )


def _drawn(number: int, timeline: Timeline, colours: dict[str, int]) -> Drawn:
    rows = f"h{number}-"
    svg = history_figures.timeline(timeline, f"t{number}", rows, colours) if number <= MOST_FIGURES else ""
    return Drawn(timeline=timeline, svg=Markup(svg), rows=rows)  # noqa: S704  (escaped in plots)
