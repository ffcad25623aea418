"""Cases of a scenario whose counts are the same in every build are one timeline: a round is counted once for all of them."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from perfproof.report.history.history_model import Timeline


def folded(timelines: Sequence[Timeline]) -> tuple[Timeline, ...]:
    """The timelines in their order, those of counts that differ in nothing but one parameter's value as one that names all values."""
    apart: dict[Hashable, list[Timeline]] = defaultdict(list)
    for timeline in timelines:
        apart[_counts(timeline) if timeline.exact else id(timeline)].append(timeline)
    return tuple(one for group in apart.values() for one in _together(group))


def _counts(timeline: Timeline) -> Hashable:
    lines = tuple((one.machine, tuple((dot.build, dot.value) for dot in one.dots), one.steps) for one in timeline.lines)
    return timeline.scenario, timeline.arm, timeline.metric.partition("@")[0], tuple(_parameters(timeline)), lines


def _together(group: Sequence[Timeline]) -> Iterator[Timeline]:
    values = {name: sorted({_parameters(one)[name] for one in group}, key=_order) for name in _parameters(group[0])}
    differing = [name for name, some in values.items() if len(some) > 1]
    if len(differing) != 1:
        yield from group
        return
    case = ",".join(f"{name}={', '.join(some)}" for name, some in values.items())
    yield dataclasses.replace(group[0], metric=f"{group[0].metric.partition('@')[0]}@{case}")


def _parameters(timeline: Timeline) -> dict[str, str]:
    return {name: value for name, _, value in (part.partition("=") for part in timeline.metric.partition("@")[2].split(",") if part)}


def _order(value: str) -> tuple[int, str]:
    return (int(value), "") if value.isdecimal() else (0, value)
