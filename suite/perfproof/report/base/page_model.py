"""The nouns of the report: Page, ScenarioView and what they hold. Values in base units, texts already clean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
from perfproof.report.base.cause_model import BlameView, HostWorkView


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialView:
    """One trial: its place, its status, one value per metric or exact count (base units), and the place of its log.

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
    """One exact count in every arm: the distinct values over its valid trials, in ascending order."""

    name: str
    unit: str
    better: Better
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkView:
    """One count of work that must be equal in all arms of a block, and the blocks where it was not."""

    name: str
    values: tuple[int, ...]
    unequal: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmView:
    """An arm as the scenario defines it, and how many of its trials are valid and attested."""

    name: str
    baseline: bool
    build: str
    version: str
    patches: tuple[str, ...]
    settings: tuple[str, ...]
    trials: int
    valid: int
    attested: int

    @property
    def amiss(self) -> bool:
        """Whether a trial is invalid or unattested."""
        return min(self.valid, self.attested) < self.trials


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A property and its values per arm (attestation) or over all trials (environment); `differs` if they are not all equal."""

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

    `words` describe each arm's growth, `claims` compare each candidate's growth with the baseline's.
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
    """One reading of the machine during each trial: `spans[trial]` is the lowest and highest value, None where none was recorded.

    The trials are those of the scenario, in its order. `finding` sums the reading up in words.
    """

    name: str
    unit: str
    spans: tuple[tuple[float, float] | None, ...]
    finding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustView:
    """What A/A runs (the baseline against itself) show about the machine of a scenario.

    `floors` are the latest of each metric, primary ones first. `seen` says which change how many blocks and minutes can detect.
    `distrust` says why times can't be trusted, "" if they can. Without an A/A there are no floors, and `command` runs one; it is "" where
    nothing is timed. `kin` then holds the latest primary floors of an A/A of the same scenario on the same machine with other settings
    (another profile, say). It says nothing about the noise of this workload, only that an A/A was run.
    """

    floors: tuple[Floor, ...]
    seen: tuple[str, ...]
    distrust: str
    command: str
    kin: tuple[Floor, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposureView:
    """What host time is worth on a server: `told` in sentences, and the median cost in TPOT of each delay of a step, both in microseconds.

    `slope` is the share of host time that shows, with its interval, in per cent; None where the workload has no TPOT, and then there are no
    `costs`.
    """

    scenario: str
    blocks: int
    told: tuple[str, ...]
    delays: tuple[float, ...]
    costs: tuple[float, ...]
    slope: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierView:
    """Throughput against latency over one knob of the load (`max-concurrency`, `request-rate`), from scenarios that differ in it alone.

    `throughputs[arm][load]` and `latencies[arm][load]` are typical values over the trials that count; `finding` sums them up.
    """

    scenarios: tuple[str, ...]
    knob: str
    loads: tuple[float, ...]
    arms: tuple[str, ...]
    rate: str
    latency: str
    throughputs: tuple[tuple[float, ...], ...]
    latencies: tuple[tuple[float, ...], ...]
    finding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatView:
    """The same question asked again: the folder or group of the other trials, and their judged metrics."""

    where: str
    rows: tuple[Judged, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedView:
    """A control: what perfproof itself planted in an arm to see whether a verdict finds it, by name and in words; `harmless` where it is
    the twin that adds nothing, and that no verdict may find."""

    name: str
    words: str
    harmless: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioView:
    """One scenario. `arms` has the baseline first; `witnesses[i].values` and `attestations[i].values` follow its order.

    `kind` is the kind of its workload. `suggests` is set where the outcome is likely but not proved. `ran`, `sure` and `turning` say what
    was run, how sure the answer is, and what would refute it. `provisos` are short caveats that belong to the answer. `unlisted` are
    estimates of metrics that were measured and the scenario does not list. `worse` are metrics that are not primary and surely got much
    worse, the worst first. `itself` is set where all arms are the same: an A/A, whose verdicts are about the machine. `unpatched` is set
    where every candidate is vLLM as released, so that no verdict is about a patch; `altered` then says what alters the baseline, "" where
    nothing does. `reasons` are those that a GPU reported for a lower clock. `changes` holds what each candidate changes, by name and in
    words (what alters the baseline, where the candidates are vLLM as released), `planted` which of them are controls; `machine`, `cores`,
    `model` and `model_size` say on what that was measured. `speeds` are clauses on trials that ran at two speeds, `swayed` those on
    single blocks that decide an open estimate, by metric and candidate. `repeats` are other runs of the same definition.
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
    altered: str = ""
    changes: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    planted: Mapping[str, PlantedView] = field(default_factory=dict)
    taken_out: frozenset[str] = frozenset()
    """The candidates that take a released change out of the baseline's build; none of them is a control."""
    machine: str = ""
    cores: int | None = None
    model: str = ""
    speeds: tuple[str, ...] = ()
    model_size: str = ""
    swayed: tuple[tuple[str, str, str], ...] = ()
    unlike: tuple[tuple[str, str], ...] = ()
    """The candidates that differ from the baseline in more than their code, each with the difference in words."""
    repeats: tuple[RepeatView, ...] = ()
    gpus: bool = False
    """Whether its machine has a GPU."""
    runner: str = ""
    """The model runner that ran, in words."""

    @property
    def primaries(self) -> tuple[Judged, ...]:
        return tuple(row for row in self.rows if row.primary)

    @property
    def control(self) -> bool:
        """Whether every candidate is a control, so that no verdict is about a change of anybody's."""
        return bool(self.planted) and all(arm.baseline or arm.name in self.planted for arm in self.arms)

    @property
    def reverted(self) -> bool:
        """Whether every candidate takes a released change out."""
        return bool(self.taken_out) and all(arm.baseline or arm.name in self.taken_out for arm in self.arms)

    def bound(self, row: Judged) -> float | None:
        """The one-sided bound (a fraction, below 0 for a drop) that decides whether accuracy is equivalent; None for any other row."""
        tasks = (task for one in self.accuracy if one.candidate == row.candidate for task in one.tasks if task.name == row.metric)
        return next((task.bound for task in tasks), None)

    @property
    def blocks(self) -> int:
        return len({trial.block for trial in self.trials})

    @property
    def shared(self) -> bool:
        """Whether each arm kept one server for all blocks."""
        return any(trial.how == "shared server" for trial in self.trials)

    @property
    def load(self) -> float | None:
        """The highest load of the machine beside its trials; None where it was not recorded."""
        spans = [span for view in self.signals if view.name == "load" for span in view.spans if span]
        return max((end for _, end in spans), default=None)

    @property
    def invalid(self) -> tuple[TrialView, ...]:
        return tuple(trial for trial in self.trials if not trial.ok)

    @property
    def traits(self) -> Kind | None:
        """The traits of its kind of workload; None for an unknown kind."""
        return kind_named(self.kind)

    @property
    def of_answers(self) -> bool:
        """Whether it compares answers rather than times."""
        return self.traits is not None and self.traits.of_answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything a report shows.

    `headline` is its first line; `answers` says whether answers changed; `records` are the raw records, embedded so that readers can check.
    `before` is what is to be read before the result, "" for nothing: an exact count, or that no new line of the change ran.
    For a measured change, `notes` say what it touches and why these scenarios were chosen. `decision` is that of a gate, where one decided;
    `counts` are its counts of the host's work, in the form of the JSON; `host_work` is that, and what scenarios counted, as shown.
    `blames` say which units bring a change, where that was asked, and `exposures` what host time is worth, where that was measured.
    """

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
    before: str = ""
    decision: Decision | None = None
    counts: Mapping[str, Any] | None = None
    host_work: tuple[HostWorkView, ...] = ()
    blames: tuple[BlameView, ...] = ()
    exposures: tuple[ExposureView, ...] = ()

    @property
    def trials(self) -> int:
        return sum(len(scenario.trials) for scenario in self.scenarios)
