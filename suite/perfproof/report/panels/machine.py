"""Whether the machine can be trusted: the baseline against itself, the readings during the trials, and the machine's description."""

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

LONG = 90
"""The characters of a fact from which it is left out on paper: a list of calls, arguments, packages of many scenarios."""
BUSY = 1.5
"""A load above this multiple of the cores gets a remark."""
MOST_SIGNALS = 24
"""The most strips of a scenario."""
MEASURED = "the measured metric; each arm’s geometric mean, as in the verdict table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A drawn signal: its strip, the median of each arm's trials, and its summary in words."""

    name: str
    strip: Markup
    middles: tuple[str, ...]
    finding: str


def render(page: Page) -> Markup:
    courses = [_courses(scenario) for scenario in page.scenarios]
    commands = list(
        dict.fromkeys(scenario.trust.command for scenario in page.scenarios if not scenario.trust.floors and scenario.trust.command)
    )
    return render_template(
        "machine.html",
        long=LONG,
        page=page,
        courses=courses,
        commands=commands,
        floor=floor_cells,
        trusted=trusted(page),
        remarks=remarks(page),
    )


def trusted(page: Page) -> str:
    """The first sentence: whether the machine can be trusted: yes, no, or not known."""
    measured = {each.name: each.trust for each in page.scenarios if each.trust.floors}
    unknown = [each.name for each in page.scenarios if each.trust.command]
    failed = [name for name, trust in measured.items() if trust.distrust]
    if failed:
        return f"No: the baseline differs from itself in {formatting.listed(failed)}"
    if not measured:
        return f"Not known: no A/A {_of_these(page)}was run" if unknown else "Not needed: nothing here was timed"
    open_ = f"; not known for {formatting.listed(unknown)}, as no A/A {_of_these(page)}was run" if unknown else ""
    return f"Yes, for {formatting.listed(list(measured))}: no A/A failed{open_}"


def _of_these(page: Page) -> str:
    """The words for the A/A that is missing, where one with other settings is there."""
    return "of these workloads " if any(scenario.trust.kin for scenario in page.scenarios) else ""


def remarks(page: Page) -> list[str]:
    """Remarks on the machine: a load beyond its cores, and time that its host took from it."""
    return [each for each in (_load(page), _steal(page)) if each]


def _load(page: Page) -> str:
    """The scenarios that ran while the machine had more than `BUSY` times as many runnable threads as cores."""
    high: dict[str, tuple[float, int]] = {}
    for scenario in page.scenarios:
        environments = (record.environment for record in page.records if record.scenario == scenario.name)
        counts = (environment.get("cores_of_machine") or environment.get("cores") for environment in environments)
        cores = min((each for each in counts if isinstance(each, int)), default=0)
        spans = [span for view in scenario.signals if view.name == "load" for span in view.spans if span]
        if cores and spans and (most := max(end for _, end in spans)) > BUSY * cores:
            high[scenario.name] = most, cores
    if not high:
        return ""
    where = formatting.listed([f"{name} ({units.rough(most, '1')})" for name, (most, _) in high.items()])
    return (
        f"The load went beyond the {min(cores for _, cores in high.values())} cores in {where}: trials shared them with other work, or "
        "with processes that an earlier trial had left. "
        "The random order spreads that over the arms and makes intervals wider; a quieter machine would detect smaller changes"
    )


def _steal(page: Page) -> str:
    """How much time the host took from the machine, where records say so; nothing where they are of several machines."""
    if len({(str(record.environment.get("processor")), str(record.environment.get("cores"))) for record in page.records}) > 1:
        return ""
    ends = [
        value
        for record in page.records
        for when in ("before", "after")
        if isinstance(moment := record.environment.get(when), Mapping) and isinstance(value := moment.get("steal_seconds"), int | float)
    ]
    if not ends or max(ends) <= min(ends):
        return ""
    return (
        f"Steal, the time for which the host gave these cores to others while this machine needed them, grew by "
        f"{units.duration(max(ends) - min(ends))} from the first trial to the last, including the time between trials"
    )


def floor_cells(floor: Floor) -> Sequence[str]:
    """The cells of a noise floor: spread, difference from itself, order effect, autocorrelation, false verdicts, blocks."""
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
    """The measured metric first, then what the machine did meanwhile."""
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
    return [SignalView(name=formatting.label(row.metric), unit=row.unit, spans=spans, finding=MEASURED)] if any(spans) else []


def _measured_course(view: SignalView, scenario: ScenarioView) -> Course:
    """The measured metric, with the arms' values of the verdict table."""
    names = [arm.name for arm in scenario.arms]
    rows = [row for row in scenario.primaries if formatting.label(row.metric) == view.name]
    values = {name: value for row in rows for name, value in ((row.baseline, row.baseline_value), (row.candidate, row.candidate_value))}
    middles = tuple(units.rough(values.get(name), view.unit) for name in names)
    return Course(name=view.name, strip=sparklines.course(view, scenario.trials, names), middles=middles, finding=view.finding)


def _course(view: SignalView, scenario: ScenarioView) -> Course:
    if view.finding == MEASURED:
        return _measured_course(view, scenario)
    names = [arm.name for arm in scenario.arms]
    middles = []
    for name in names:
        pairs = zip(view.spans, scenario.trials, strict=True)
        readings = [sum(span) / 2 for span, trial in pairs if span is not None and trial.arm == name]
        middles.append(units.rough(median(readings), view.unit) if readings else NONE)
    return Course(name=view.name, strip=sparklines.course(view, scenario.trials, names), middles=tuple(middles), finding=view.finding)
