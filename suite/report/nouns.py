"""The nouns of the report: Page, ScenarioView and what they hold. Values in base units, texts already clean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.model.decision import Decision
from suite.model.judged import Judged, Outcome
from suite.model.metrics import Better
from suite.model.record import Record, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialView:
    """One trial: where it stood, how it went, one value a metric or witness (base units), and where its log lies.

    `detail` is the reason line by line where it has several (the last lines of a log), else empty.
    """

    block: int
    position: int
    arm: str
    status: Status
    reason: str
    detail: str
    how: str
    started: str
    values: Mapping[str, float]
    warnings: tuple[str, ...]
    log: str

    @property
    def ok(self) -> bool:
        return self.status == "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessView:
    """One witness in every arm: the distinct values over its valid trials, in ascending order."""

    name: str
    unit: str
    better: Better
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkView:
    """One count of work that the arms of a block must share, and the blocks where they did not."""

    name: str
    values: tuple[int, ...]
    unequal: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmView:
    """An arm as the scenario defines it and how many of its trials are valid and attested."""

    name: str
    baseline: bool
    build: str
    patches: tuple[str, ...]
    settings: tuple[str, ...]
    trials: int
    valid: int
    attested: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A property and its value in every arm (attestation) or in every trial (environment); `differs` if they are not all one."""

    name: str
    values: tuple[str, ...]
    differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadView:
    """The distribution of raw values (rounds, requests) within each valid trial: `curves[arm][trial]` are quantiles at `curves.LEVELS`."""

    name: str
    unit: str
    curves: tuple[tuple[tuple[float, ...], ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthView:
    """A cost at several sizes of one parameter: `costs[arm][size]` are geometric means over trials.

    `words` tell each arm's growth, `claims` each candidate's against the baseline's.
    """

    metric: str
    name: str
    parameter: str
    unit: str
    better: Better
    sizes: tuple[float, ...]
    costs: tuple[tuple[float, ...], ...]
    words: tuple[str, ...]
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioView:
    """One scenario. `arms` has the baseline first; `witnesses[i].values` and `attestations[i].values` follow its order."""

    name: str
    question: str
    answer: str
    outcome: Outcome
    rows: tuple[Judged, ...]
    arms: tuple[ArmView, ...]
    trials: tuple[TrialView, ...]
    witnesses: tuple[WitnessView, ...]
    work: tuple[WorkView, ...]
    growths: tuple[GrowthView, ...]
    spreads: tuple[SpreadView, ...]
    attestations: tuple[Fact, ...]
    unjudged: tuple[str, ...]
    warnings: tuple[str, ...]
    commands: tuple[str, ...]
    definition: str
    seconds: tuple[tuple[str, float], ...]

    @property
    def primaries(self) -> tuple[Judged, ...]:
        return tuple(row for row in self.rows if row.primary)

    @property
    def blocks(self) -> int:
        return len({trial.block for trial in self.trials})

    @property
    def invalid(self) -> tuple[TrialView, ...]:
        return tuple(trial for trial in self.trials if not trial.ok)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything a report shows. `headline` is its first line; `records` are the raw ones, embedded for whoever doubts; `notes` say, where
    a change was measured, what it touches and why these scenarios."""

    title: str
    headline: str
    made: str
    version: str
    results: str
    scenarios: tuple[ScenarioView, ...]
    machine: tuple[Fact, ...]
    warnings: tuple[str, ...]
    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()
    decision: Decision | None = None

    @property
    def trials(self) -> int:
        return sum(len(scenario.trials) for scenario in self.scenarios)
