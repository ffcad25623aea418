"""Whether the machine can be trusted: what the baseline did against itself, what was seen beside the trials, and what the machine is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from markupsafe import Markup

from suite.model.floor import Floor
from suite.report import strips, units, words
from suite.report.nouns import Page, ScenarioView, SignalView
from suite.report.templates import render as render_template
from suite.report.units import NONE, THIN

MOST_SIGNALS = 24
"""Strips of a scenario."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A signal as drawn: its strip, the middle value of each arm's trials, and the finding."""

    name: str
    strip: Markup
    middles: tuple[str, ...]
    told: str


def render(page: Page) -> Markup:
    courses = [_courses(scenario) for scenario in page.scenarios]
    commands = list(
        dict.fromkeys(scenario.trust.command for scenario in page.scenarios if not scenario.trust.floors and scenario.trust.command)
    )
    return render_template("machine.html", page=page, courses=courses, commands=commands, floor=floor_cells)


def floor_cells(floor: Floor) -> Sequence[str]:
    """A noise floor for a line of the table: spread, difference from itself, order effect, autocorrelation, false verdicts."""
    return (
        f"{_per_cent(floor.sd)} [{_per_cent(floor.sd_low, False)}, {_per_cent(floor.sd_high, False)}]",
        words.per_cent(floor.effect),
        NONE if floor.order_p is None else f"p = {floor.order_p:.2g}",
        NONE if floor.rho is None else f"{units.signed_minus(f'{floor.rho:+.2f}')}{_stretched(floor)}",
        f"{floor.false_verdicts} of {floor.windows}",
        str(floor.blocks),
    )


def _per_cent(fraction: float, sign: bool = True) -> str:
    return f"{units.percent(fraction, 2 if fraction < 0.1 else 1, plus=False)}{f'{THIN}%' if sign else ''}"


def _stretched(floor: Floor) -> str:
    return f" (intervals × {floor.widening:.2f})" if floor.widening > 1 else ""


def _courses(scenario: ScenarioView) -> list[Course]:
    """What was measured first, so that the eye can go from it to what the machine did meanwhile."""
    if not scenario.signals:
        return []
    return [_course(each, scenario) for each in (*_measured(scenario), *scenario.signals[:MOST_SIGNALS])]


def _measured(scenario: ScenarioView) -> list[SignalView]:
    """The first timed primary metric, as a signal."""
    row = next((row for row in scenario.primaries if not row.exact), None)
    if row is None:
        return []
    values = [trial.values.get(row.metric) for trial in scenario.trials]
    spans = tuple(None if value is None else (value, value) for value in values)
    return [SignalView(name=words.label(row.metric), unit=row.unit, spans=spans, told="what was measured")] if any(spans) else []


def _course(view: SignalView, scenario: ScenarioView) -> Course:
    names = [arm.name for arm in scenario.arms]
    middles = []
    for name in names:
        mine = [sum(span) / 2 for span, trial in zip(view.spans, scenario.trials, strict=True) if span is not None and trial.arm == name]
        middles.append(units.rough(median(mine), view.unit) if mine else NONE)
    return Course(name=view.name, strip=strips.course(view, scenario.trials, names), middles=tuple(middles), told=view.told)
