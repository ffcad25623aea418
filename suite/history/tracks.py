"""Points become series in the order of their builds, and series show their steps."""

from __future__ import annotations

from dataclasses import dataclass

from suite.history.lines import History
from suite.model.point import Point, Series
from suite.model.step import Confirm, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One series: its points by build (vLLM's version, then the time of measuring), the points of a build together.

    `changes` maps the place of a point (from 1) to what changed of the environment before it, in words.
    """

    series: Series
    points: tuple[Point, ...]
    changes: dict[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackSteps:
    """The steps of one track, `Step.at` and `.last` being labels of builds, and what has to be said of it."""

    track: Track
    steps: tuple[Step, ...]
    warnings: tuple[str, ...]


def tracks(history: History) -> list[Track]:
    """Every series of a history, by scenario, metric, arm, machine."""
    raise NotImplementedError


def steps_of(history: History, *, floor: float, confirm: Confirm | None = None) -> list[TrackSteps]:
    """The steps of every series; `floor` is the smallest relative change of a timed metric that is a step.

    Acknowledged steps carry their reason. `confirm` is asked about every timed step that is not acknowledged.
    """
    raise NotImplementedError
