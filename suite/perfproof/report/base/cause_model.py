"""The nouns of what lies behind a change: the functions that do more or less work, and the units of a difference that bring it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionView:
    """One function (or C call, or operator) with its counted work before and after; `lines` are new lines of it that ran, with their
    numbers."""

    name: str
    module: str
    before: int
    after: int
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWorkRow:
    """One metric of a phase of a feature, counted on both sides. `functions` are those behind the change, the worst first, and `further`
    how many more there are; `reason` says why it can't be compared."""

    feature: str
    phase: str
    requests: int
    metric: str
    before: int
    after: int
    change: float | None
    verdict: str
    reason: str
    functions: tuple[FunctionView, ...]
    further: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWorkView:
    """What was counted of two builds: `rows` differ, the worst first, `identical` do not; of all `numbers` so many are the `same`.
    `drawn` is of how many rows the functions are shown. `title` is the scenario's name, "" for a change."""

    title: str
    builds: tuple[str, str]
    rows: tuple[HostWorkRow, ...]
    identical: tuple[HostWorkRow, ...]
    numbers: int
    same: int
    drawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GuiltyView:
    """A unit that brings a share of a change: `function` is "" for a whole file, `lines` and `hunks` are those of the bad build, `together`
    the units that act with it; `share`, with its `interval`, and `brought` are fractions of the change, None where that is not known."""

    function: str
    file: str
    lines: str
    hunks: str
    share: float | None
    interval: tuple[float, float] | None
    brought: float | None
    together: tuple[str, ...]
    divided: bool
    known: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureView:
    """A mixture of two builds that was tried: on which, with which units of the other, how much of the change it has (None: unresolved),
    and what was said of it."""

    side: str
    units: tuple[str, ...]
    share: float | None
    interval: tuple[float, float] | None
    said: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameView:
    """Which units of the difference of two builds bring a change of a scenario, the mixtures on the way there, and the diff that takes it
    back; `elsewhere` says where a part of it lies that vLLM's Python does not bring, "" where there is none."""

    scenario: str
    builds: tuple[str, str]
    metric: str
    values: tuple[str, str]
    timed: bool
    guilty: tuple[GuiltyView, ...]
    elsewhere: str
    mixtures: tuple[MixtureView, ...]
    functions: tuple[tuple[str, int, float], ...]
    answer: str
    diff: str
    complete: bool
