"""The view model of a history's page, and every sentence of it."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

from packaging.version import Version

from perfproof.analysis.steps.rank_scan import LEAST
from perfproof.model.base.untrusted import line
from perfproof.model.history.point import Point
from perfproof.model.history.step import Step
from perfproof.model.history.upstream_notes import UpstreamChange, between
from perfproof.model.scenarios.metrics import EXACT, is_timed
from perfproof.model.scenarios.metrics import metric as row_of
from perfproof.report.base import formatting, units
from perfproof.report.history.history_model import DotView, HistoryPage, LineView, State, SteppedSeries, StepView, Timeline
from perfproof.report.history.same_counts import folded

EVEN = 1.2
"""The ratio of the highest value to the lowest up to which a mean stands for all."""
NAME = 160
"""Most characters of a name as shown."""
STATES: dict[State, str] = {
    "exact": "counted exactly",
    "confirmed": "confirmed by a paired run of both builds",
    "refuted": "not confirmed: a paired run of both builds shows no such change",
    "seen": "seen in the series, not yet measured in pairs",
    "accepted": "accepted",
}


def build(
    series: Sequence[SteppedSeries],
    *,
    made: str,
    version: str,
    folder: str,
    upstream: Sequence[UpstreamChange] = (),
    warnings: Sequence[str] = (),
) -> HistoryPage:
    """The page of these series. `made` is the time of making in words, `folder` the history's, `upstream` the known changes of vLLM.

    Series that differ only in their machine share a timeline, and so do cases with the same counts.
    """
    apart: dict[tuple[str, str, str, str], list[SteppedSeries]] = defaultdict(list)
    for one in series:
        apart[one.series.scenario, one.series.metric, one.series.arm, one.series.workload].append(one)
    machines = tuple(dict.fromkeys(one.series.machine for one in series))
    timelines = folded([_timeline(group, machines, upstream, [one for one in series if _timed(one)]) for group in apart.values()])
    return HistoryPage(
        headline=headline(timelines),
        made=formatting.moment(line(made)),
        version=line(version),
        folder=line(folder),
        timelines=_ordered([_beside(timeline, timelines) for timeline in timelines]),
        machines=tuple(line(machine) for machine in machines),
        warnings=tuple(formatting.sentence(warning) for warning in warnings),
        builds=tuple(line(name, NAME) for name in _builds(series)),
        short=_short(tuple(_builds(series))),
    )


def _beside(timeline: Timeline, timelines: Sequence[Timeline]) -> Timeline:
    """The timeline with the places of the builds at which other metrics of its scenario have steps."""
    builds = {step.build for one in timelines if one.scenario == timeline.scenario for _, step in one.steps if step.state != "refuted"}
    own = {step.build for _, step in timeline.steps}
    places = (place for place, build in enumerate(timeline.builds) if build in builds - own and place)
    return dataclasses.replace(timeline, elsewhere=tuple(places))


def _ordered(timelines: Sequence[Timeline]) -> tuple[Timeline, ...]:
    """The scenarios with the largest steps first; within a scenario counts first, then timelines with steps."""
    largest: dict[str, float] = defaultdict(float)
    for timeline in timelines:
        largest[timeline.scenario] = max([largest[timeline.scenario], *(_weight(step) for _, step in timeline.steps)])
    return tuple(sorted(timelines, key=lambda one: (-largest[one.scenario], one.scenario, not one.exact, not one.steps, one.metric)))


def _weight(step: StepView) -> float:
    """The size of a step on the scale of ratios. A step from or to zero has none and counts as a doubling."""
    return abs(math.log1p(step.effect)) if step.effect is not None and step.effect > -1 else math.log(2)


def _timed(series: SteppedSeries) -> bool:
    return is_timed(series.series.metric)


def _timeline(
    group: Sequence[SteppedSeries], machines: Sequence[str], upstream: Sequence[UpstreamChange], timed: Sequence[SteppedSeries]
) -> Timeline:
    first = group[0].series
    versions = _builds(group)
    builds = tuple(versions)
    row = row_of(first.metric)
    ordered = sorted(group, key=lambda one: machines.index(one.series.machine))
    return Timeline(
        scenario=line(first.scenario, NAME),
        metric=line(first.metric, NAME),
        arm=line(first.arm, NAME),
        unit=row.unit,
        better=row.better,
        exact=row.kind in EXACT,
        builds=tuple(line(name, NAME) for name in builds),
        short=_short(builds),
        lines=tuple(_line(one, builds, versions, upstream, timed) for one in ordered),
        warnings=tuple(formatting.sentence(warning) for one in ordered for warning in one.warnings),
    )


def _builds(group: Sequence[SteppedSeries]) -> dict[str, str]:
    """Every build's label with its version, over all machines in the order of versions."""
    seen: dict[str, tuple[tuple[bool, Version], str, str]] = {}
    for one in group:
        for label, points in one.builds:
            when = min(point.when for point in points)
            place = (_version(points[0].version), when, points[0].version)
            seen[label] = min(seen.get(label, place), place)
    return {label: seen[label][2] for label in sorted(seen, key=lambda label: seen[label])}


def _version(text: str) -> tuple[bool, Version]:
    try:
        return (False, Version(text))
    except ValueError:
        return (True, Version("0"))


def _short(builds: Sequence[str]) -> tuple[str, ...]:
    """The builds' names for the axis: without the distribution where all have the same."""
    heads = {name.partition(" ")[0] for name in builds}
    names = [name.partition(" ")[2] or name for name in builds] if len(heads) == 1 else builds
    return tuple(line(name, 24) for name in names)


def _line(
    series: SteppedSeries,
    builds: Sequence[str],
    versions: dict[str, str],
    upstream: Sequence[UpstreamChange],
    timed: Sequence[SteppedSeries],
) -> LineView:
    places = {name: place for place, name in enumerate(builds)}
    same = dataclasses.replace(series.series, metric="")
    beside = [one for one in timed if dataclasses.replace(one.series, metric="") == same and not _timed(series)]
    dots = [_dot(places[label], label, point) for label, points in series.builds for point in points]
    return LineView(
        machine=line(series.series.machine),
        dots=tuple(dots),
        steps=tuple(_step(series, step, places, versions, upstream, beside) for step in series.steps),
        changes=tuple(_changes(dots, series.steps, places)),
    )


def _dot(place: int, label: str, point: Point) -> DotView:
    return DotView(
        place=place,
        build=line(label, NAME),
        value=point.value,
        low=min(point.values),
        high=max(point.values),
        trials=len(point.values),
        when=formatting.moment(line(point.when)),
        environment=point.environment,
    )


def _changes(dots: Sequence[DotView], steps: Sequence[Step], places: dict[str, int]) -> list[tuple[int, str]]:
    """The places where a build shares no environment of the machine with the build before, with the change where a step names it."""
    words = {places[str(step.at)]: step.environment for step in steps if step.environment}
    apart: dict[int, set[str]] = defaultdict(set)
    for dot in dots:
        apart[dot.place].add(dot.environment)
    changed = [after for before, after in pairwise(sorted(apart)) if not apart[before] & apart[after]]
    return [(place, line(words.get(place) or "the environment of the machine changed")) for place in changed]


def _step(
    stepped: SteppedSeries,
    step: Step,
    places: dict[str, int],
    versions: dict[str, str],
    upstream: Sequence[UpstreamChange],
    beside: Sequence[SteppedSeries],
) -> StepView:
    series, at, last = stepped.series, str(step.at), str(step.last)
    known = between(upstream, series.scenario, series.metric, versions[last], versions[at])
    return StepView(
        place=places[at],
        build=line(at, NAME),
        last=line(last, NAME),
        worse=(step.direction == "rise") is (row_of(series.metric).better == "lower"),
        before=step.before,
        after=step.after,
        effect=step.effect,
        state=_state(step, not is_timed(series.metric)),
        reason=formatting.sentence(step.reason),
        accepted=formatting.sentence(step.acknowledged),
        environment=line(step.environment),
        upstream=tuple(line(f"{change.words}{f' (#{change.pull})' if change.pull else ''}") for change in known),
        times=tuple(phrase for one in beside if (phrase := _between(one, last, at))),
    )


def _between(timed: SteppedSeries, last: str, at: str) -> str:
    """A time at two builds, from their newest points that share an environment; "" where there are none."""
    builds = dict(timed.builds)
    pairs = ((before, after) for after in reversed(builds.get(at, ())) for before in reversed(builds.get(last, ())))
    for before, after in pairs:
        if before.environment == after.environment:
            values = " to ".join(units.quantity(point.value, point.unit) for point in (before, after))
            change = _size(after.value / before.value - 1 if before.value > 0 else None)
            return f"{formatting.label(timed.series.metric)} {values}{f' ({change})' if change else ''}"
    return ""


def _state(step: Step, exact: bool) -> State:
    if step.acknowledged:
        return "accepted"
    if exact:
        return "exact"
    return "seen" if step.confirmed is None else "confirmed" if step.confirmed else "refuted"


# --- words ------------------------------------------------------------------------------------------------------


def headline(timelines: Sequence[Timeline]) -> str:
    """The page's first line: how many steps there are, those for the worse first, or that there is none."""
    if not timelines:
        return "The history holds no points"
    every = [step for timeline in timelines for _, step in timeline.steps]
    standing = [step for step in every if step.state not in ("accepted", "refuted")]
    worse = sum(step.worse for step in standing)
    accepted = sum(step.state == "accepted" for step in every)
    parts = [f"{worse} for the worse"] if worse else []
    parts += [f"{len(standing) - worse} for the better"] if len(standing) > worse else []
    parts += [f"{accepted} accepted"] if accepted else []
    series = f"{len(timelines)} timeline{'s' * (len(timelines) != 1)}"
    return f"{_steps(len(every))} in {series}: {', '.join(parts)}" if parts else f"No step in {series}"


def _steps(number: int) -> str:
    return f"{number} step{'s' * (number != 1)}"


def value(amount: float, timeline: Timeline) -> str:
    """A value of a timeline; counts are not rounded."""
    if timeline.exact and timeline.unit == "1":
        return units.exact(amount) if abs(amount) < 1e15 else units.digits(amount)
    return units.quantity(amount, timeline.unit)


def latest(timeline: Timeline) -> str:
    """The value of the newest build, on the first machine that has it."""
    last = max((dot for line_ in timeline.lines for dot in line_.dots), key=lambda dot: dot.place)
    return value(last.value, timeline)


def size(step: StepView) -> str:
    """The size of a step: "× 4,000", "+12.3 %"; "" for a step from or to zero."""
    return _size(step.effect)


def _size(effect: float | None) -> str:
    return "" if effect is None or effect <= -1 else units.factor(effect) or formatting.per_cent(effect)


def levels(step: StepView, timeline: Timeline) -> str:
    """The values before and after a step: "4 µs to 8 ms"."""
    return f"{value(step.before, timeline)} to {value(step.after, timeline)}"


def way(step: StepView) -> str:
    """The direction of a step, in words."""
    return "worse" if step.worse else "better"


def state(step: StepView) -> str:
    """The state of a step in words, with the reason where it was accepted."""
    return f"{STATES['accepted']}: {step.accepted}" if step.state == "accepted" else STATES[step.state]


def summary(timeline: Timeline) -> str:
    """A timeline in a sentence, for its caption and for screen readers."""
    if not timeline.steps:
        return _without_step(timeline)
    parts = [
        f"{way(step)} at {step.build}, {levels(step, timeline)}" + (f" ({size(step)})" if size(step) else "") for _, step in timeline.steps
    ]
    return "; ".join(parts)


def _without_step(timeline: Timeline) -> str:
    """What a timeline shows that has no step: its level, or that it has too few builds to be judged. Never a mean over a jump."""
    dots = [dot for each in timeline.lines for dot in each.dots]
    if len({dot.value for dot in dots}) == 1:
        return f"{value(dots[0].value, timeline)} in every build"
    bounds = [0, *timeline.elsewhere, len(timeline.builds)]
    stretches = [(start, [dot for dot in dots if start <= dot.place < end]) for start, end in pairwise(bounds)]
    known = [(start, own) for start, own in stretches if own]
    fewest = min(len({dot.place for dot in own}) for _, own in known)
    low, high = min(dot.value for dot in dots), max(dot.value for dot in dots)
    if fewest >= 2 * LEAST and (low <= 0 or high / low <= EVEN):
        return f"no step; {value(fmean(dot.value for dot in dots), timeline)} on average"
    told = [f"{value(median(dot.value for dot in own), timeline)} from {timeline.short[start]}" for start, own in known]
    if len(known) == 1:
        told = [f"{value(low, timeline)} to {value(high, timeline)}"]
    if fewest < 2 * LEAST:
        few = f"{fewest} {'in a stretch' if len(known) > 1 else 'in all'}; a step of a time needs {LEAST} on either side"
        return f"too few builds to judge ({few}): {', '.join(told)}"
    return f"no step that holds for {LEAST} builds on either side; {', '.join(told)}"
