"""The nouns of the history's page. Values in base units, texts already clean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from perfproof.model.history.point import Point, Series
from perfproof.model.history.step import Step
from perfproof.model.scenarios.metrics import Better

State = Literal["exact", "confirmed", "refuted", "seen", "accepted"]
"""What is known of a step: counted; confirmed or not by a paired run; seen, and not measured in pairs; accepted by somebody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the page is made of: one series, its points by the labels of its builds in their order, its steps and warnings."""

    series: Series
    builds: Sequence[tuple[str, Sequence[Point]]]
    steps: Sequence[Step]
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DotView:
    """One point: `place` is its build's among the timeline's, `low` and `high` the ends of its trials."""

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
    """One step: at which place, whether for the worse, and everything that is said of it.

    `accepted` is the reason of an acknowledgement; `upstream` what vLLM is known to have changed there; `environment` what else changed;
    `times`, of a count, what the scenario's times did between the same two builds, a phrase each.
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
    """One machine's points in a timeline, its steps, and where its environment changed: a place, and what changed there."""

    machine: str
    dots: tuple[DotView, ...]
    steps: tuple[StepView, ...]
    changes: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """One metric of one scenario over builds: a line a machine. `short` are the builds' names for the axis."""

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

    @property
    def steps(self) -> tuple[tuple[LineView, StepView], ...]:
        """Every step, with the line that it belongs to, in the order of builds."""
        return tuple(sorted(((line, step) for line in self.lines for step in line.steps), key=lambda both: both[1].place))


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """Everything the page shows. `machines` are their fingerprints, in the order in which lines are told apart."""

    headline: str
    made: str
    version: str
    folder: str
    timelines: tuple[Timeline, ...]
    machines: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def scenarios(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(timeline.scenario for timeline in self.timelines))

    @property
    def points(self) -> int:
        return sum(len(line.dots) for timeline in self.timelines for line in timeline.lines)
