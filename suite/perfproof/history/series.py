"""Makes series of points, in the order of their builds, and finds their steps."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from packaging.version import Version

from perfproof.analysis import steps as detection
from perfproof.history.history_files import History
from perfproof.model.base.name_lists import few
from perfproof.model.history.point import Acknowledgement, Point, Series
from perfproof.model.history.step import Confirm, Step

Settings = Mapping[str, Mapping[str, str]]
NAMED = 3
"""The most changed packages that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPoints:
    """The points of one build in one series, by the time of measuring; `label` is unique in the series."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One series by build: ordered by vLLM's version, then by the time of the first measurement."""

    series: Series
    builds: tuple[BuildPoints, ...]

    @property
    def points(self) -> tuple[Point, ...]:
        """All points, in the order of the builds."""
        return tuple(point for build in self.builds for point in build.points)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackSteps:
    """The steps of one track, where `Step.at` and `.last` are labels of builds, and warnings."""

    track: Track
    steps: tuple[Step, ...]
    warnings: tuple[str, ...]


def tracks(history: History) -> list[Track]:
    """Every series of a history, by scenario, metric, arm, machine, workload."""
    apart: dict[Series, list[Point]] = defaultdict(list)
    for point in history.points:
        apart[point.series].append(point)
    return [Track(series=series, builds=_builds(apart[series])) for series in sorted(apart, key=dataclasses.astuple)]


def _builds(points: list[Point]) -> tuple[BuildPoints, ...]:
    """The points by build: equal label, version and files of vLLM; a label that several builds share gets the version, or the files'
    hash."""
    apart: dict[tuple[str, str, str], list[Point]] = defaultdict(list)
    for point in sorted(points, key=lambda point: point.when):
        apart[point.build, point.version, point.sources].append(point)
    builds = sorted(apart, key=lambda build: (version_order(build[1]), apart[build][0].when))
    return tuple(BuildPoints(label=_label(build, builds), points=tuple(apart[build])) for build in builds)


def version_order(text: str) -> tuple[bool, Version]:
    """The sort key of a version; other texts come last."""
    try:
        return (False, Version(text))
    except ValueError:  # also of a number with too many digits
        return (True, Version("0"))


def _label(build: tuple[str, str, str], builds: list[tuple[str, str, str]]) -> str:
    name, version, sources = build
    alike = [other for other in builds if other[0] == name]
    if len(alike) == 1:
        return name
    return f"{name} ({version})" if sum(other[1] == version for other in alike) == 1 else f"{name} ({sources[:8]})"


def steps_of(history: History, *, floor: float, confirm: Confirm | None = None) -> list[TrackSteps]:
    """The steps of every series; `floor` is the smallest relative change of a timed metric that is a step.

    Acknowledged steps carry their reason. `confirm` is called for every timed step that is not acknowledged.
    """
    return [_steps(track, history, floor, confirm) for track in tracks(history)]


def _steps(track: Track, history: History, floor: float, confirm: Confirm | None) -> TrackSteps:
    detected = detection.steps(
        _groups(track),
        floor=floor,
        kind=track.points[0].kind,
        unit=track.points[0].unit,
        describe=lambda before, after: changed(history.settings, before, after),
    )
    steps = [_acknowledged(track, _beside(track, step, history.settings), history.acknowledgements) for step in detected.steps]
    if confirm is not None:
        steps = [_confirmed(track, step, confirm) for step in steps]
    return TrackSteps(track=track, steps=tuple(steps), warnings=detected.warnings)


def _groups(track: Track) -> list[detection.Group]:
    """A group for each build and environment: the points of a timed metric, all values of a count."""
    groups: list[detection.Group] = []
    for build in track.builds:
        apart = _by_environment(build, groups[-1].environment if groups else "")
        groups += [detection.Group(label=build.label, environment=name, values=np.array(own, dtype=float)) for name, own in apart.items()]
    return groups


def _by_environment(build: BuildPoints, last: str) -> dict[str, list[float]]:
    """A build's values by environment. A count that is equal in all of a build's environments stays in `last`, if that is one of them: a
    new count after a change of kernel shows that the kernel changes nothing."""
    apart: dict[str, list[float]] = defaultdict(list)
    for point in build.points:
        apart[point.environment] += point.values if point.kind != "timed" else [point.value]
    every = [value for own in apart.values() for value in own]
    if build.points[0].kind != "timed" and len(set(every)) == 1:
        return {last if last in apart else next(iter(apart)): every}
    return apart


def changed(settings: Settings, before: str, after: str) -> str:
    """The differences between two settings, given by their ids, in words: "kernel 6.1 to 6.2"."""
    old, new = settings.get(before), settings.get(after)
    if old is None or new is None:
        return f"{before or 'unknown'} to {after or 'unknown'}"
    names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    return few([f"{name} {old.get(name, 'unknown')} to {new.get(name, 'unknown')}" for name in names], NAMED)


def _beside(track: Track, step: Step, settings: Settings) -> Step:
    """The step, with other packages that changed from its build on."""
    of_build = {build.label: build.points[-1].packages for build in track.builds}
    before, after = of_build[str(step.last)], of_build[str(step.at)]
    if before == after:
        return step
    return dataclasses.replace(step, reason=f"{step.reason}; beside vLLM {changed(settings, before, after)}")


def _acknowledged(track: Track, step: Step, acknowledgements: tuple[Acknowledgement, ...]) -> Step:
    series = track.series
    same = (series.scenario, series.metric, series.arm, series.machine, step.at)
    for one in acknowledgements:
        if (one.scenario, one.metric, one.arm, one.machine, one.at) == same:
            return dataclasses.replace(step, acknowledged=one.reason, reason=f"{step.reason}; acknowledged: {one.reason}")
    return step


def _confirmed(track: Track, step: Step, confirm: Confirm) -> Step:
    if step.acknowledged or track.points[0].kind != "timed":
        return step
    confirmation = confirm(track.series, step)
    return dataclasses.replace(
        step, confirmed=confirmation.confirmed, reason=f"{step.reason}; {confirmation.reason}" if confirmation.reason else step.reason
    )
