"""Steps of a series whose groups have names and environments: environments never mix, and a change of environment is reported."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from perfproof.analysis.stats.samples import Floats
from perfproof.analysis.steps.step_detection import Change, Changes, Kind, between, find
from perfproof.model.history.step import Label, Step

Describe = Callable[[str, str], str]
"""Describes the change from one environment to another."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """The measurements of one build in one environment: `values` has shape (m,), m > 0, finite."""

    label: Label
    environment: str
    values: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The steps in the order of the series, and warnings about it."""

    steps: tuple[Step, ...]
    warnings: tuple[str, ...]


def steps(groups: Sequence[Group], *, floor: float, kind: Kind, describe: Describe, unit: str = "") -> Steps:
    """Steps within each environment, and between two of them where the second begins after the first has ended.

    `describe` puts a change of environment into words. `unit` is that of the values, "" where it is not known.

    Source: `step_detection`, on each environment's groups alone.
    """
    apart = _by_environment(groups)
    places = {id(group): place for place, group in enumerate(groups)}
    found: list[tuple[int, Step]] = []
    warnings: list[str] = []
    seen = [find([group.values for group in own], floor=floor, kind=kind, unit=unit) for own in apart]
    for own, changes in zip(apart, seen, strict=True):
        found += [(places[id(own[one.index])], _step(own, one)) for one in changes.changes]
        warnings += [_of_one(own, warning, len(apart)) for warning in changes.warnings]
    for (before, first), (after, second) in pairwise(zip(apart, seen, strict=True)):
        words = describe(before[0].environment, after[0].environment)
        if places[id(before[-1])] > places[id(after[0])]:
            warnings.append(f"points of two environments alternate ({words}): each was examined by itself")
            continue
        joint = _joint(before, first, after, second, floor=floor, unit=unit)
        if joint is not None:
            found.append((places[id(after[0])], _labelled([*before, *after], joint, words)))
        elif not first.exact:
            warnings.append(f"the environment changed at {after[0].label} ({words}): levels before and after it are not compared as builds")
    return Steps(steps=tuple(step for _, step in sorted(found, key=lambda one: one[0])), warnings=tuple(dict.fromkeys(warnings)))


def _by_environment(groups: Sequence[Group]) -> list[list[Group]]:
    apart: dict[str, list[Group]] = {}
    for group in groups:
        apart.setdefault(group.environment, []).append(group)
    return list(apart.values())


def _of_one(own: Sequence[Group], warning: str, environments: int) -> str:
    return warning if environments == 1 else f"from {own[0].label} to {own[-1].label}: {warning}"


def _joint(before: Sequence[Group], first: Changes, after: Sequence[Group], second: Changes, *, floor: float, unit: str) -> Change | None:
    """The change from the last level of one environment to the first level of the next; its index is in both together."""
    start = first.changes[-1].index if first.changes else 0
    end = second.changes[0].index if second.changes else len(after)
    counted: Kind = "witness" if first.exact and second.exact else "timed"
    found = between([one.values for one in before[start:]], [one.values for one in after[:end]], floor=floor, kind=counted, unit=unit)
    return dataclasses.replace(found, index=len(before)) if found is not None else None


def _step(own: Sequence[Group], change: Change) -> Step:
    return Step(
        at=own[change.index].label,
        last=own[change.index - 1].label,
        direction=change.direction,
        before=change.before,
        after=change.after,
        effect=change.effect,
        interval=change.interval,
        confidence=change.confidence,
        reason=change.reason,
        environment="",
        confirmed=None,
        acknowledged="",
    )


def _labelled(both: Sequence[Group], change: Change, words: str) -> Step:
    """A step that the change of environment may explain as well as the build."""
    reason = f"environment: {words}; not attributed to the build: {change.reason}"
    return dataclasses.replace(_step(both, change), environment=words, reason=reason)
