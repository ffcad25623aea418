"""Whether the machine can be trusted: what the baseline did against itself, what was seen beside the trials, and what the machine is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from markupsafe import Markup

from perfproof.model.verdicts.noise_floor import Floor
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import Page, ScenarioView, SignalView
from perfproof.report.base.units import NONE, THIN
from perfproof.report.figures import sparklines
from perfproof.report.formats.templates import render as render_template

BUSY = 1.5
"""A load beyond so many times the cores draws a remark."""
MOST_SIGNALS = 24
"""Strips of a scenario."""
MEASURED = "what was measured; each arm’s geometric mean, as in the verdict table"


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
    return render_template(
        "machine.html", page=page, courses=courses, commands=commands, floor=floor_cells, trusted=trusted(page), remarks=remarks(page)
    )


def trusted(page: Page) -> str:
    """Whether the machine can be trusted, in a first sentence: yes, no, or not known."""
    asked = {each.name: each.trust for each in page.scenarios if each.trust.floors}
    unknown = [each.name for each in page.scenarios if each.trust.command]
    failed = [name for name, found in asked.items() if found.distrust]
    if failed:
        return f"No: the baseline differs from itself in {formatting.listed(failed)}"
    if not asked:
        return f"Not known: no A/A {_of_these(page)}was run" if unknown else "Not asked: nothing here was timed"
    open_ = f"; not known for {formatting.listed(unknown)}, as no A/A {_of_these(page)}was run" if unknown else ""
    return f"Yes, for {formatting.listed(list(asked))}: no A/A failed{open_}"


def _of_these(page: Page) -> str:
    """What is lacking, where the same scenario was run against itself in another way."""
    return "of these workloads " if any(scenario.trust.kin for scenario in page.scenarios) else ""


def remarks(page: Page) -> list[str]:
    """What else speaks for or against the machine, in words: load beyond its cores, and time that the host kept from it."""
    return [each for each in (_load(page), _steal(page)) if each]


def _load(page: Page) -> str:
    """Which scenarios ran under a load of more than half again as many runnable threads as the machine has cores, ours or not."""
    high: dict[str, tuple[float, int]] = {}
    for scenario in page.scenarios:
        told = (record.environment for record in page.records if record.scenario == scenario.name)
        cores = min((each for said in told if isinstance(each := said.get("cores_of_machine") or said.get("cores"), int)), default=0)
        spans = [span for view in scenario.signals if view.name == "load" for span in view.spans if span]
        if cores and spans and (most := max(end for _, end in spans)) > BUSY * cores:
            high[scenario.name] = most, cores
    if not high:
        return ""
    where = formatting.listed([f"{name} ({units.rough(most, '1')})" for name, (most, _) in high.items()])
    return (
        f"The load went beyond the {min(cores for _, cores in high.values())} cores in {where}: trials shared them with other work, or "
        "with what a trial before had left. "
        "The random order spreads that over the arms and intervals are the wider for it; a quieter machine would see more"
    )


def _steal(page: Page) -> str:
    """How much time the host kept from the machine, where records tell it; nothing where they are of several machines."""
    if len({(str(record.environment.get("processor")), str(record.environment.get("cores"))) for record in page.records}) > 1:
        return ""
    ends = [
        value
        for record in page.records
        for when in ("before", "after")
        if isinstance(found := record.environment.get(when), Mapping) and isinstance(value := found.get("steal_seconds"), int | float)
    ]
    if not ends or max(ends) <= min(ends):
        return ""
    return (
        f"Steal, the time for which the host ran others on these cores while this machine wanted them, grew by "
        f"{units.duration(max(ends) - min(ends))} from the first trial to the last, what lay between trials included"
    )


def floor_cells(floor: Floor) -> Sequence[str]:
    """A noise floor for a line of the table: spread, difference from itself, order effect, autocorrelation, false verdicts."""
    return (
        f"{_per_cent(floor.sd)} [{_per_cent(floor.sd_low, False)}, {_per_cent(floor.sd_high, False)}]",
        formatting.per_cent(floor.effect),
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
    return [SignalView(name=formatting.label(row.metric), unit=row.unit, spans=spans, told=MEASURED)] if any(spans) else []


def _measured_course(view: SignalView, scenario: ScenarioView) -> Course:
    """What was measured, with the arms' values as the verdict table has them."""
    names = [arm.name for arm in scenario.arms]
    rows = [row for row in scenario.primaries if formatting.label(row.metric) == view.name]
    values = {name: value for row in rows for name, value in ((row.baseline, row.baseline_value), (row.candidate, row.candidate_value))}
    middles = tuple(units.rough(values.get(name), view.unit) for name in names)
    return Course(name=view.name, strip=sparklines.course(view, scenario.trials, names), middles=middles, told=view.told)


def _course(view: SignalView, scenario: ScenarioView) -> Course:
    if view.told == MEASURED:
        return _measured_course(view, scenario)
    names = [arm.name for arm in scenario.arms]
    middles = []
    for name in names:
        mine = [sum(span) / 2 for span, trial in zip(view.spans, scenario.trials, strict=True) if span is not None and trial.arm == name]
        middles.append(units.rough(median(mine), view.unit) if mine else NONE)
    return Course(name=view.name, strip=sparklines.course(view, scenario.trials, names), middles=tuple(middles), told=view.told)
