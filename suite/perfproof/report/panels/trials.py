"""One dot for every trial of every arm: figures of the primary metrics, and a table of every value behind them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.figures import plots
from perfproof.report.formats.templates import render as render_template
from perfproof.report.text.shown_rows import Shown, shown

MOST_FIGURES = 18
MOST_DOTS = 18_000
"""Figures on a page, and trials in each. Further metrics have dots in the verdict table and values in the tables of trials."""
MOST_COLUMNS = 14
"""The most metrics and exact counts of a scenario's table, primary ones first."""
MOST_TRIALS = 400
MOST_REASONS, MOST_LOGS = 60, 12
"""Reasons listed of trials that do not count, and ends of logs shown; the raw records hold the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawn row, as it is shown."""

    one: Shown
    svg: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The column of a metric or exact count in the table of trials, in one scale."""

    name: str
    head: str
    scale: units.Scale


def render(page: Page) -> Markup:
    chosen = _chosen(page)
    shown = [(scenario, _figures(number, scenario, chosen), _columns(scenario)) for number, scenario in enumerate(page.scenarios, 1)]
    left_out = sum(_drawable(scenario) for scenario in page.scenarios) - len(chosen)
    return render_template(
        "trials.html",
        page=page,
        shown=shown,
        most=MOST_TRIALS,
        most_reasons=MOST_REASONS,
        most_logs=MOST_LOGS,
        left_out=left_out,
    )


def _drawable(scenario: ScenarioView) -> int:
    return len(_rows(scenario))


def _rows(scenario: ScenarioView) -> list[Judged]:
    """The rows with one dot per trial. Answers have one per item, which another panel shows."""
    return [] if scenario.of_answers else [row for row in scenario.rows if row.primary and not row.exact]


def _chosen(page: Page) -> set[int]:
    """The rows to draw, by identity: the first primary of each scenario, then the second of each, until there are enough."""
    queues = [[(row, len(scenario.trials)) for row in _rows(scenario)] for scenario in page.scenarios]
    turns = [queue[turn] for turn in range(max(map(len, queues), default=0)) for queue in queues if turn < len(queue)]
    drawn = accumulate(dots for _, dots in turns)
    firsts = sum(bool(queue) for queue in queues)
    few = [(row, place < firsts or dots <= MOST_DOTS) for place, ((row, _), dots) in enumerate(zip(turns, drawn, strict=True))]
    return {id(row) for row, fits in few[:MOST_FIGURES] if fits}


def _figures(number: int, scenario: ScenarioView, chosen: set[int]) -> list[Figure]:
    places = {arm.name: place for place, arm in enumerate(scenario.arms)}
    load = next((signal for signal in scenario.signals if signal.name == "load"), None)
    figures = []
    for index, row in enumerate(scenario.rows):
        if id(row) in chosen:
            one, place = shown(scenario, row), places[row.candidate]
            svg = plots.trials(one.row, scenario.trials, f"f{number}-{index}", f"s{number}-", place, load, scenario.cores, one.turned)
            figures.append(Figure(one=one, svg=Markup(svg)))  # noqa: S704  (escaped in plots)
    return figures


def _columns(scenario: ScenarioView) -> list[Column]:
    units_of = {row.metric: row.unit for row in scenario.rows}
    columns = []
    primary = [row.metric for row in scenario.primaries]
    known = {name for trial in scenario.trials for name in trial.values}
    for name in [name for name in dict.fromkeys([*primary, *units_of, *sorted(known)]) if name in known][:MOST_COLUMNS]:
        unit = units_of.get(name) or formatting.unit_of(name)[0]
        scale = units.scale((trial.values[name] for trial in scenario.trials if name in trial.values), unit)
        columns.append(Column(name=name, head=formatting.label(name), scale=scale))
    return columns
