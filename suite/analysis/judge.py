"""From the records of a results folder to judged metrics: the one road that `compare`, the report, the gate and a running plan take.

For every scenario, candidate and metric: the trials are paired by block, blocks whose arms did unequal work are
told apart, primary timed metrics go through the sequential rule together (they share its error), witnesses compare
exactly, and everything else is explored: estimated, never judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from suite.analysis import explain, exploratory, spending, verdict, witness, work
from suite.analysis.calibration import Trust, trusted
from suite.analysis.samples import Observation, PairedSample, Status, pair
from suite.analysis.spending import Spending
from suite.analysis.verdict import Verdict
from suite.model.decode import scenario_of
from suite.model.errors import BadInput
from suite.model.floor import Floor, machine_fingerprint, workload_digest
from suite.model.metrics import Better, Metric, is_timed, metric
from suite.model.record import Record
from suite.model.scenario import Arm, MetricChoice, Scenario

EXPLORED = "exploratory"
SHARED_WARNING = "both arms kept one server for all blocks: launch-to-launch variance was not sampled, so this suggests and does not prove"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One metric of one candidate: a line of the verdict table, and an entry of `perfproof compare --json`.

    `effect`, `interval` and `mde` are relative changes of candidate against baseline, as fractions; None where there is
    nothing to say. `baseline_value` and `candidate_value` are medians over blocks in the metric's base unit. `verdict` is one of the
    five, or "exploratory" for a metric that was not declared primary. `q` is the exploratory metric's q-value.
    """

    scenario: str
    metric: str
    unit: str
    better: str
    kind: str
    primary: bool
    baseline: str
    candidate: str
    baseline_value: float | None
    candidate_value: float | None
    blocks: int
    effect: float | None
    interval: tuple[float, float] | None
    level: float | None
    margin: float
    mde: float | None
    verdict: str
    reason: str
    warnings: tuple[str, ...]
    q: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedScenario:
    """All judged metrics of one scenario. `stop` says why no more blocks are needed, or is empty."""

    scenario: Scenario
    judged: tuple[Judged, ...]
    blocks: int
    stop: str


def judge_records(records: Iterable[Record], *, final: bool = True, floors: Sequence[Floor] = ()) -> list[JudgedScenario]:
    """Judges every scenario found, in the order in which they first appear.

    `final` is False while a run may go on. `floors` are the noise floors of the results folder: the latest A/A of the same machine and
    workload may forbid timed verdicts, or widen their intervals. Raises `BadInput` where one name stands for two different scenarios.
    """
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        found[record.scenario].append(record)
    return [judge_scenario(name, mine, final=final, floors=floors) for name, mine in found.items()]


def judge_scenario(name: str, records: Sequence[Record], *, final: bool = True, floors: Sequence[Floor] = ()) -> JudgedScenario:
    """Judges the records of one scenario; see `judge_records`. While a run may go on, a failed A/A stops nothing: a later one may pass."""
    digests = {record.digest for record in records}
    if len(digests) > 1:
        raise BadInput(
            f"{name}: records of {len(digests)} different scenarios of that name are mixed ({', '.join(sorted(digests))}): "
            "keep each in a results folder of its own"
        )
    scenario = scenario_of(records[0].definition, source=f"the records of {name}")
    trials = latest(records)
    trust = trusted(floors, {machine_fingerprint(trial.environment) for trial in trials}, workload_digest(scenario.definition))
    unequal = _unequal_blocks(trials)
    paid = spending_of(scenario)
    minutes = _minutes_per_block(trials)
    judged: list[Judged] = []
    primaries: list[Verdict] = []
    for candidate in scenario.candidates:
        rows, verdicts = _judge_candidate(scenario, candidate, trials, unequal, paid, final, trust, minutes)
        judged += rows
        primaries += verdicts
    blocks = len({trial.block for trial in trials})
    return JudgedScenario(
        scenario=scenario, judged=tuple(judged), blocks=blocks, stop=verdict.should_stop(primaries, _whole(trials, scenario), paid)
    )


def judge_table(
    rows: Sequence[tuple[str, str, float]], *, name: str, better: Better, margin: float, unit: str
) -> tuple[list[Judged], list[str]]:
    """Judges rows of (block, arm, value), all blocks as one look; the first arm named is the baseline.

    Returns a line for each other arm, and the whole reasoning in sentences. The table must be whole (`importers.table`).
    """
    arms = list(dict.fromkeys(arm for _, arm, _ in rows))
    numbers = {block: number for number, block in enumerate(dict.fromkeys(block for block, _, _ in rows), 1)}
    seen: dict[str, int] = defaultdict(int)
    observations = []
    for block, arm, value in rows:
        observations.append(Observation(block=numbers[block], arm=arm, value=value, status=Status.OK, reason="", position=seen[block]))
        seen[block] += 1
    paid = spending.one_look(len(numbers), 1, len(arms) - 1)
    judged, sentences = [], []
    for arm in arms[1:]:
        sample = pair(observations, baseline=arms[0], candidate=arm, metric=name, unit=unit, better=better)
        found = verdict.judge(sample, paid, margin=margin)
        judged.append(
            _line(
                name, arms[0], arm, True, margin, Metric(name=name, unit=unit, better=better, kind="time", per="block"), sample, found, ()
            )
        )
        sentences += explain.explain(found, sample, paid)
    return judged, sentences


def latest(records: Sequence[Record]) -> list[Record]:
    """Each trial once: the last, where a block was measured again, unless an earlier one failed for good."""
    trials: dict[tuple[str, int, str], Record] = {}
    for record in records:
        earlier = trials.get(record.trial)
        if earlier is None or earlier.status in ("ok", "invalid"):
            trials[record.trial] = record
    return list(trials.values())


def spending_of(scenario: Scenario) -> Spending:
    """The looks that a scenario plans, its error shared by timed primary metrics and candidates."""
    timed = max(1, sum(is_timed(choice.name) for choice in scenario.primaries))
    candidates = len(scenario.candidates)
    return spending.sequential(timed, candidates) if scenario.blocks is None else spending.one_look(scenario.blocks, timed, candidates)


def _whole(trials: Sequence[Record], scenario: Scenario) -> int:
    """Blocks in which every arm has a trial that counts."""
    arms: dict[int, set[str]] = defaultdict(set)
    for trial in trials:
        if trial.status != "invalid":
            arms[trial.block].add(trial.arm)
    return sum(len(seen) == len(scenario.arms) for seen in arms.values())


def _minutes_per_block(trials: Sequence[Record]) -> float | None:
    seconds: dict[int, float] = defaultdict(float)
    for trial in trials:
        seconds[trial.block] += trial.seconds.get("total", 0.0)
    return sum(seconds.values()) / len(seconds) / 60 if seconds else None


def _unequal_blocks(trials: Sequence[Record]) -> Mapping[int, str]:
    """Blocks whose arms did different work, with the difference in words."""
    done: dict[int, dict[str, Mapping[str, int]]] = defaultdict(dict)
    for trial in trials:
        if trial.status == "ok":
            done[trial.block][trial.arm] = trial.work
    told = {block: work.unequal(arms) for block, arms in done.items() if len(arms) > 1}
    return {block: reason for block, reason in told.items() if reason}


def paired(scenario: Scenario, candidate: Arm, records: Sequence[Record]) -> dict[str, PairedSample]:
    """The paired sample of each of a scenario's metrics, by name: what `judge_scenario` judges."""
    trials = latest(records)
    unequal = _unequal_blocks(trials)
    return {choice.name: _sample(choice.name, scenario.baseline.name, candidate.name, trials, unequal) for choice in scenario.metrics}


def minutes_per_block(records: Sequence[Record]) -> float | None:
    """Minutes that a block of these records took, on average; None where there is none."""
    return _minutes_per_block(latest(records))


def _judge_candidate(
    scenario: Scenario,
    candidate: Arm,
    trials: Sequence[Record],
    unequal: Mapping[int, str],
    paid: Spending,
    final: bool,
    trust: Trust,
    minutes: float | None,
) -> tuple[list[Judged], list[Verdict]]:
    samples = {choice.name: _sample(choice.name, scenario.baseline.name, candidate.name, trials, unequal) for choice in scenario.metrics}
    timed = [choice for choice in scenario.primaries if is_timed(choice.name)]
    verdicts = dict(
        zip(
            [choice.name for choice in timed],
            verdict.judge_all(
                [samples[choice.name] for choice in timed],
                paid,
                margins=[choice.margin for choice in timed],
                widening=trust.widening,
                distrust=trust.distrust if final else "",
                final=final,
                minutes_per_block=minutes,
            ),
            strict=True,
        )
    )
    explored = [choice for choice in scenario.metrics if not choice.primary and is_timed(choice.name)]
    estimates = dict(zip([c.name for c in explored], exploratory.explore([samples[c.name] for c in explored]), strict=True))
    extra = _warnings(trials, candidate.name, scenario.baseline.name)
    rows = []
    for choice in scenario.metrics:
        row, sample = metric(choice.name), samples[choice.name]
        if choice.name in estimates:
            rows.append(_explored(scenario, candidate, choice, row, sample, estimates[choice.name]))
            continue
        if choice.name not in verdicts:
            verdicts[choice.name] = _witness(row, sample)
        told = extra if is_timed(choice.name) else ()
        baseline = scenario.baseline.name
        rows.append(_line(scenario.name, baseline, candidate.name, choice.primary, choice.margin, row, sample, verdicts[choice.name], told))
    return rows, [verdicts[choice.name] for choice in scenario.primaries]


def _sample(name: str, baseline: str, candidate: str, trials: Sequence[Record], unequal: Mapping[int, str]) -> PairedSample:
    row = metric(name)
    timed = is_timed(name)
    observations = []
    for trial in trials:
        if trial.arm not in (baseline, candidate):
            continue
        value = trial.measurements.get(name) if timed else trial.witnesses.get(name)
        status, reason = Status(trial.status), trial.reason
        if status is Status.OK and trial.block in unequal:
            status, reason = Status.UNEQUAL, unequal[trial.block]
        observations.append(
            Observation(block=trial.block, arm=trial.arm, value=value, status=status, reason=reason, position=trial.position)
        )
    return pair(
        observations,
        baseline=baseline,
        candidate=candidate,
        metric=name,
        unit=row.unit,
        better=row.better,
        scale="log" if timed else "difference",
    )


def _witness(row: Metric, sample: PairedSample) -> Verdict:
    if sample.broken:
        loss = sample.broken[0]
        return Verdict(
            outcome=verdict.Outcome.UNTESTABLE,
            comparison=None,
            reason=f"block {loss.block}, arm {loss.arm}: {loss.reason}",
            warnings=(),
            exact=True,
            settling=None,
        )
    return witness.judge_witness(sample.baseline.tolist(), sample.candidate.tolist(), row.better, unit="" if row.unit == "1" else row.unit)


def _warnings(trials: Sequence[Record], *arms: str) -> tuple[str, ...]:
    mine = [trial for trial in trials if trial.arm in arms]
    told = dict.fromkeys(warning for trial in mine for warning in trial.warnings)
    if any(trial.how == "shared server" for trial in mine):
        told[SHARED_WARNING] = None
    return tuple(told)


def _middle(values: Sequence[float]) -> float | None:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2 if ordered else None


def _line(
    scenario: str,
    baseline: str,
    candidate: str,
    primary: bool,
    margin: float,
    row: Metric,
    sample: PairedSample,
    found: Verdict,
    extra: tuple[str, ...],
) -> Judged:
    compared = found.comparison
    before, after = _middle(sample.baseline.tolist()), _middle(sample.candidate.tolist())
    exact_effect = after / before - 1 if found.exact and before and after is not None else None
    return Judged(
        scenario=scenario,
        metric=sample.metric,
        unit=row.unit,
        better=row.better,
        kind=row.kind,
        primary=primary,
        baseline=baseline,
        candidate=candidate,
        baseline_value=before,
        candidate_value=after,
        blocks=compared.blocks if compared else sample.n,
        effect=compared.effect if compared else exact_effect,
        interval=found.interval if compared else (exact_effect, exact_effect) if exact_effect is not None else None,
        level=found.level if compared else 1.0 if exact_effect is not None else None,
        margin=margin,
        mde=compared.mde if compared else None,
        verdict=found.outcome.value,
        reason=found.reason,
        warnings=(*found.warnings, *extra),
        q=None,
    )


def _explored(
    scenario: Scenario, candidate: Arm, choice: MetricChoice, row: Metric, sample: PairedSample, found: exploratory.Estimate
) -> Judged:
    return Judged(
        scenario=scenario.name,
        metric=choice.name,
        unit=row.unit,
        better=row.better,
        kind=row.kind,
        primary=False,
        baseline=scenario.baseline.name,
        candidate=candidate.name,
        baseline_value=_middle(sample.baseline.tolist()),
        candidate_value=_middle(sample.candidate.tolist()),
        blocks=sample.n,
        effect=found.effect,
        interval=found.interval,
        level=0.95 if found.interval else None,
        margin=choice.margin,
        mde=None,
        verdict=EXPLORED,
        reason=found.reason,
        warnings=(),
        q=found.q,
    )
