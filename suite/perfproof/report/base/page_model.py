"""The nouns of the report: Page, ScenarioView and what they hold. Values in base units, texts already clean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perfproof.model.kinds import kind_named
from perfproof.model.records.record import Record, Status
from perfproof.model.scenarios.metrics import Better
from perfproof.model.verdicts.accuracy_details import AccuracyDetails
from perfproof.model.verdicts.equality_details import EqualityDetails
from perfproof.model.verdicts.gate_decision import Decision
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.model.verdicts.noise_floor import Floor
from perfproof.model.workloads.kind import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialView:
    """One trial: where it stood, how it went, one value a metric or witness (base units), and where its log lies.

    `reason` is one sentence; `detail` holds the lines that followed it (the end of a log), else it is empty.
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
    version: str
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
class SignalView:
    """What the machine was seen to do beside each trial: `spans[trial]` is the lowest and highest reading, None where nothing was told.

    The trials are those of the scenario, in its order. `told` is the finding in words.
    """

    name: str
    unit: str
    spans: tuple[tuple[float, float] | None, ...]
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustView:
    """What A/A runs (the baseline against itself) say of the machine that a scenario ran on.

    `floors` are the latest of each metric, primary ones first; `seen` says what how many blocks and minutes can see; `distrust` why times
    can't be believed, "" if they can. Without an A/A there are no floors, and `command` makes one; it is "" where nothing is timed.
    `kin` are then the latest of the primary metrics of an A/A of the same scenario on the same machine that ran otherwise (in another
    profile, say): it says nothing of this workload's noise, but that the machine was asked.
    """

    floors: tuple[Floor, ...]
    seen: tuple[str, ...]
    distrust: str
    command: str
    kin: tuple[Floor, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierView:
    """Throughput against latency over one knob of the load (`max-concurrency`, `request-rate`), from scenarios that differ in it alone.

    `throughputs[arm][load]` and `latencies[arm][load]` are typical values over the trials that count; `told` is the finding.
    """

    scenarios: tuple[str, ...]
    knob: str
    loads: tuple[float, ...]
    arms: tuple[str, ...]
    rate: str
    latency: str
    throughputs: tuple[tuple[float, ...], ...]
    latencies: tuple[tuple[float, ...], ...]
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioView:
    """One scenario. `arms` has the baseline first; `witnesses[i].values` and `attestations[i].values` follow its order.

    `kind` is its workload's. `suggests` says that the outcome is a hint, no proof. `ran`, `sure` and `turning` say what was run, how sure
    the answer is, and what would change it; `provisos` are short clauses without which it would be taken for more than it is.
    `unlisted` are estimates of what was measured and the scenario does not name, `worse` what surely got worse by much though it is not
    primary, the worst first.
    `itself` is set where the arms are one and the same: an A/A, whose verdicts are about the machine; `unpatched` where every candidate is
    vLLM as released, so that no verdict is a patch's. `reasons` are those that a GPU's
    clock gave for not running faster.
    """

    name: str
    question: str
    answer: str
    ran: str
    sure: str
    turning: str
    provisos: tuple[str, ...]
    itself: bool
    unpatched: bool
    kind: str
    outcome: Outcome
    suggests: bool
    rows: tuple[Judged, ...]
    arms: tuple[ArmView, ...]
    trials: tuple[TrialView, ...]
    witnesses: tuple[WitnessView, ...]
    work: tuple[WorkView, ...]
    growths: tuple[GrowthView, ...]
    spreads: tuple[SpreadView, ...]
    signals: tuple[SignalView, ...]
    reasons: tuple[str, ...]
    trust: TrustView
    equality: tuple[EqualityDetails, ...]
    accuracy: tuple[AccuracyDetails, ...]
    attestations: tuple[Fact, ...]
    unjudged: tuple[str, ...]
    warnings: tuple[str, ...]
    commands: tuple[str, ...]
    definition: str
    seconds: tuple[tuple[str, float], ...]
    unlisted: tuple[Judged, ...] = ()
    worse: tuple[Judged, ...] = ()

    @property
    def primaries(self) -> tuple[Judged, ...]:
        return tuple(row for row in self.rows if row.primary)

    def bound(self, row: Judged) -> float | None:
        """The one-sided bound (a fraction, below 0 for a drop) that decides whether an accuracy is equivalent; None for any other row."""
        tasks = (task for one in self.accuracy if one.candidate == row.candidate for task in one.tasks if task.name == row.metric)
        return next((task.bound for task in tasks), None)

    @property
    def blocks(self) -> int:
        return len({trial.block for trial in self.trials})

    @property
    def invalid(self) -> tuple[TrialView, ...]:
        return tuple(trial for trial in self.trials if not trial.ok)

    @property
    def traits(self) -> Kind | None:
        """The traits of its kind of workload; None for one that nobody knows."""
        return kind_named(self.kind)

    @property
    def of_answers(self) -> bool:
        """Whether it compares answers, and not times."""
        return self.traits is not None and self.traits.of_answers


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
class Page:
    """Everything a report shows. `headline` is its first line, `answers` says whether answers changed; `records` are the raw ones, embedded
    for whoever doubts; `notes` say, where a change was measured, what it touches and why these scenarios; `decision` is a gate's, where one
    decided, and `counts` what was counted of the host's work, as JSON has it; `host_work` is that, and what scenarios counted, as shown."""

    title: str
    headline: str
    answers: str
    made: str
    version: str
    results: str
    scenarios: tuple[ScenarioView, ...]
    frontiers: tuple[FrontierView, ...]
    machine: tuple[Fact, ...]
    warnings: tuple[str, ...]
    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()
    decision: Decision | None = None
    counts: Mapping[str, Any] | None = None
    host_work: tuple[HostWorkView, ...] = ()

    @property
    def trials(self) -> int:
        return sum(len(scenario.trials) for scenario in self.scenarios)
