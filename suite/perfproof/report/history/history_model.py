"""The nouns of the history's page. Values are in base units, texts already clean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from perfproof.model.history.point import Point, Series
from perfproof.model.history.step import Step
from perfproof.model.scenarios.metrics import Better

State = Literal["exact", "confirmed", "refuted", "seen", "accepted"]
"""The state of a step: counted exactly; confirmed or refuted by a paired run; seen but not measured in pairs; accepted by somebody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedSeries:
    """One series for the page: its points by build label in order, its steps and warnings."""

    series: Series
    builds: Sequence[tuple[str, Sequence[Point]]]
    steps: Sequence[Step]
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DotView:
    """One point: `place` is the place of its build in the timeline, `low` and `high` are the range of its trials."""

    place: int
    build: str
    value: float
    low: float
    high: float
    trials: int
    when: str
    environment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One step: its place, its direction, and all that is known about it.

    `accepted` is the reason of an acknowledgement, `upstream` the known changes of vLLM there, `environment` other changes. For a count,
    `times` says in phrases what the scenario's times did between the same two builds.
    """

    place: int
    build: str
    last: str
    worse: bool
    before: float
    after: float
    effect: float | None
    state: State
    reason: str
    accepted: str
    environment: str
    upstream: tuple[str, ...]
    times: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineView:
    """One machine's points in a timeline, its steps, and the changes of its environment, each a place and a text."""

    machine: str
    dots: tuple[DotView, ...]
    steps: tuple[StepView, ...]
    changes: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """One metric of one scenario over builds, one line per machine. `short` are the builds' names for the axis."""

    scenario: str
    metric: str
    arm: str
    unit: str
    better: Better
    exact: bool
    builds: tuple[str, ...]
    short: tuple[str, ...]
    lines: tuple[LineView, ...]
    warnings: tuple[str, ...]
    elsewhere: tuple[int, ...] = ()
    """The places where other metrics of the scenario have steps."""

    @property
    def steps(self) -> tuple[tuple[LineView, StepView], ...]:
        """Every step with its line, in the order of builds."""
        return tuple(sorted(((line, step) for line in self.lines for step in line.steps), key=lambda both: both[1].place))


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """Everything the page shows. `machines` are the fingerprints of the machines, in the order of their colours; `builds` are those of all
    timelines in the order of versions, and `short` their names for an axis."""

    headline: str
    made: str
    version: str
    folder: str
    timelines: tuple[Timeline, ...]
    machines: tuple[str, ...]
    warnings: tuple[str, ...]
    builds: tuple[str, ...] = ()
    short: tuple[str, ...] = ()

    @property
    def scenarios(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(timeline.scenario for timeline in self.timelines))

    @property
    def points(self) -> int:
        return sum(len(line.dots) for timeline in self.timelines for line in timeline.lines)
