"""From the records of a results folder to judged metrics: `compare`, the report, the gate and a running plan all use this module.

For every scenario, candidate and metric, the trials are paired by block (`paired_trials`). Primary timed metrics go through the sequential
rule together and share its error. Exact counts are compared exactly; so are counts of the host's work, which have a margin (`host_counts`).
Everything else is explored: estimated, never judged.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from perfproof.analysis.hosts.host_trust import hosts_of
from perfproof.analysis.hosts.host_verdicts import Hosts, OverHosts, judge_over_hosts, without
from perfproof.analysis.judging import answer_judges, host_counts, secondary_metrics
from perfproof.analysis.stats import alpha_spending, number_format
from perfproof.analysis.stats.alpha_spending import Spending
from perfproof.analysis.stats.samples import Observation, PairedSample, Status, pair, typical
from perfproof.analysis.trials import mean_median_check, model_runners
from perfproof.analysis.trials.paired_trials import latest, minutes_per_block, paired, spoilt, whole_blocks
from perfproof.analysis.trials.trial_groups import kept_apart
from perfproof.analysis.verdicts import exact_counts, explain, exploratory, verdict
from perfproof.analysis.verdicts.calibration import Trust
from perfproof.analysis.verdicts.verdict import Verdict
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.decode import scenario_of
from perfproof.model.kinds import kind_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import Better, Metric, is_count, is_timed, metric
from perfproof.model.scenarios.scenario import Arm, MetricChoice, Scenario
from perfproof.model.verdicts.judged import SUGGESTS, Judged, Outcome, Uncounted
from perfproof.model.verdicts.noise_floor import Floor, workload_digests

SHARED_WARNING = "every arm kept one server for all blocks: launch-to-launch variance was not sampled, so the verdict is likely, not proved"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedScenario:
    """All judged metrics of one scenario. `stop` says why no more blocks are needed, or is empty.

    `unlisted` are estimates of metrics that were measured and the scenario does not list. `worse` are metrics without a verdict that surely
    got much worse, the worst first; there are none where the machine's times can't be trusted.
    """

    scenario: Scenario
    judged: tuple[Judged, ...]
    blocks: int
    stop: str
    unlisted: tuple[Judged, ...] = ()
    worse: tuple[Judged, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Versus:
    """The names of a comparison."""

    scenario: str
    baseline: str
    candidate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One candidate against the baseline, with the data for its verdicts."""

    scenario: Scenario
    candidate: Arm
    trials: Sequence[Record]
    trust: Trust
    final: bool
    hosts: Hosts

    @property
    def versus(self) -> _Versus:
        return _Versus(scenario=self.scenario.name, baseline=self.scenario.baseline.name, candidate=self.candidate.name)


def judge_records(records: Iterable[Record], *, final: bool = True, floors: Sequence[Floor] = ()) -> list[JudgedScenario]:
    """Judges every scenario in the order of appearance; records of different machines or builds are judged apart (`trial_groups`).

    `final` is False while a run may go on. `floors` are the noise floors of the results folder: the latest A/A of the same machine and
    workload may forbid timed verdicts, or widen their intervals. Raises `BadInput` where one name stands for two different scenarios, or
    where records have different seeds. Source: `verdict.judge_all`, `witness.judge_witness`, `exploratory.explore`.
    """
    by_scenario: dict[str, list[Record]] = defaultdict(list)
    for record in kept_apart(list(records)):
        by_scenario[record.scenario].append(record)
    return [judge_scenario(name, own, final=final, floors=floors) for name, own in by_scenario.items()]


def judge_scenario(name: str, records: Sequence[Record], *, final: bool = True, floors: Sequence[Floor] = ()) -> JudgedScenario:
    """Judges the records of one scenario; see `judge_records`. A failed A/A does not stop a running plan: a later one may pass.

    Source: see `judge_records`.
    """
    digests = {record.digest for record in records}
    if len(digests) > 1:
        raise BadInput(
            f"{name}: records of {len(digests)} different scenarios of that name are mixed ({', '.join(sorted(digests))}): "
            "keep each in its own results folder"
        )
    seeds = sorted({record.seed for record in records})
    if len(seeds) > 1:
        odd = next(record for record in records if record.seed != records[0].seed)
        raise BadInput(
            f"{name}: records of {len(seeds)} seeds are mixed ({', '.join(map(str, seeds[:8]))}; the first other one: seed {odd.seed} in "
            f"block {odd.block}, arm {odd.arm}): the seed gives a block its order and its inputs; keep each in its own results folder"
        )
    scenario = dataclasses.replace(scenario_of(records[0].definition, source=f"the records of {name}"), name=name)
    trials = model_runners.unattested_where_unlike(latest(records))
    if (of_answers := answer_judges.judge_of(scenario)) is not None:
        judged = of_answers.judge(scenario, trials)
        return JudgedScenario(scenario=scenario, judged=judged, blocks=1, stop=of_answers.stop(scenario, trials, judged))
    own = workload_digests(scenario.definition, model_runners.seen(trials, scenario.baseline.name))
    hosts, trust = hosts_of(trials, floors, own)
    candidates = [
        _judge_candidate(_Case(scenario=scenario, candidate=arm, trials=trials, trust=trust, final=final, hosts=hosts))
        for arm in scenario.candidates
    ]
    primaries = [each for _, verdicts in candidates for each in verdicts]
    judged = tuple(row for rows, _ in candidates for row in rows)
    others = _unlisted(scenario, trials) if final else ()
    return JudgedScenario(
        scenario=scenario,
        judged=judged,
        unlisted=others,
        worse=() if trust.distrust else secondary_metrics.also_worse((*judged, *others)),
        blocks=len({trial.block for trial in trials}),
        stop=verdict.should_stop(
            primaries, whole_blocks(trials, scenario), spending_of(scenario), whole_blocks(trials, scenario, exact=True)
        ),
    )


def judge_table(
    rows: Sequence[tuple[str, str, float]],
    *,
    scenario: str,
    name: str,
    baseline: str,
    better: Better,
    margin: float,
    unit: str,
    metrics: int = 1,
) -> tuple[list[Judged], list[list[str]]]:
    """Judges rows of (block, arm, value), all blocks as one look.

    `name` is the metric's name; `metrics` is the number of metrics that share the error.

    Returns a line for each candidate, and its reasoning in sentences. The table must be complete (`importers.trials_csv`).
    Source: `verdict.judge`.
    """
    arms = list(dict.fromkeys(arm for _, arm, _ in rows))
    numbers = {block: number for number, block in enumerate(dict.fromkeys(block for block, _, _ in rows), 1)}
    seen: dict[str, int] = defaultdict(int)
    observations = []
    for block, arm, value in rows:
        observations.append(Observation(block=numbers[block], arm=arm, value=value, status=Status.OK, reason="", position=seen[block]))
        seen[block] += 1
    paid = alpha_spending.one_look(len(numbers), 1, (len(arms) - 1) * metrics)
    row = Metric(name=name, unit=unit, better=better, kind="time", per="block")
    choice = MetricChoice(name=name, primary=True, margin=margin)
    judged, sentences = [], []
    for arm in arms:
        if arm == baseline:
            continue
        sample = pair(observations, baseline=baseline, candidate=arm, metric=name, unit=unit, better=better)
        result = verdict.judge(sample, paid, margin=margin)
        judged.append(_line(_Versus(scenario=scenario, baseline=baseline, candidate=arm), choice, row, sample, result, ()))
        sentences.append(explain.explain(result, sample, paid))
    return judged, sentences


def spending_of(scenario: Scenario) -> Spending:
    """The looks of a scenario; its timed primary metrics, candidates and the benchmarks chosen with it share the error.

    Source: `alpha_spending`.
    """
    timed = max(1, sum(is_timed(choice.name) for choice in scenario.primaries))
    candidates = len(scenario.candidates) * scenario.workload.chosen_together
    return (
        alpha_spending.sequential(timed, candidates)
        if scenario.blocks is None
        else alpha_spending.one_look(scenario.blocks, timed, candidates)
    )


def _unlisted(scenario: Scenario, trials: Sequence[Record]) -> tuple[Judged, ...]:
    """Estimates of measured metrics that the scenario does not list, candidate by candidate, explored together."""
    listed, rows = secondary_metrics.unlisted(scenario, trials), []
    for arm in scenario.candidates if listed.metrics else ():
        versus = _Versus(scenario=scenario.name, baseline=scenario.baseline.name, candidate=arm.name)
        samples = paired(listed, arm, trials)
        estimates = _estimates(listed, samples)
        rows += [
            _explored(versus, choice, metric(choice.name), samples[choice.name], estimates[choice.name], ()) for choice in listed.metrics
        ]
    return tuple(rows)


def _judge_candidate(case: _Case) -> tuple[list[Judged], list[Verdict]]:
    """A line for each of the scenario's metrics, and the verdicts on the primary ones."""
    scenario, samples = case.scenario, paired(case.scenario, case.candidate, case.trials)
    over = _over_hosts(case, samples)
    samples |= {name: one.sample for name, one in over.items()}
    estimates, verdicts = _estimates(scenario, samples), _timed_verdicts(case, samples, over)
    extra = _warnings(case.trials, case.candidate.name, scenario.baseline.name)
    effects = {name: float(sample.x.mean()) for name, sample in samples.items() if sample.n and mean_median_check.twin(name)}
    counted = {one.row.metric: one for one in host_counts.counted(scenario, case.candidate, case.trials)}
    rows = []
    for choice in scenario.metrics:
        if is_count(choice.name):
            found = counted.pop(choice.name)
            verdicts[choice.name] = found.found.verdict
            rows.append(found.row)
            continue
        row, sample = metric(choice.name), samples[choice.name]
        disagree = tuple(filter(None, [mean_median_check.contradicted(choice.name, choice.margin, effects)]))
        if choice.name in estimates:
            rows.append(_explored(case.versus, choice, row, sample, estimates[choice.name], disagree))
            continue
        if choice.name not in verdicts:
            verdicts[choice.name] = _witness(row, sample)
        line = _line(case.versus, choice, row, sample, verdicts[choice.name], (*disagree, *extra) if is_timed(choice.name) else ())
        rows.append(dataclasses.replace(line, blocks=over[choice.name].blocks) if choice.name in over else line)
    if case.final:
        rows = list(_with_uncounted(case, rows, samples))
    return [*rows, *(one.row for one in counted.values())], [verdicts[choice.name] for choice in scenario.primaries]


def _with_uncounted(case: _Case, rows: Sequence[Judged], samples: Mapping[str, PairedSample]) -> Iterator[Judged]:
    """The lines; those of times without an effect, since a busy machine spoilt their blocks, with what these blocks showed."""
    lacking = {
        row.metric
        for row in rows
        if row.effect is None and is_timed(row.metric) and (own := samples[row.metric]).count(Status.INVALID) and not own.broken
    }
    shown = spoilt(case.scenario, case.candidate, case.trials) if lacking else {}
    for row in rows:
        sample = shown[row.metric] if row.metric in lacking else None
        yield row if sample is None or not sample.n else dataclasses.replace(row, uncounted=_uncounted(sample))


def _uncounted(sample: PairedSample) -> Uncounted:
    (estimate,) = exploratory.explore([sample])
    before, after = typical(sample.baseline.tolist()), typical(sample.candidate.tolist())
    effect = after / before - 1 if estimate.effect is None and sample.scale == "log" else estimate.effect
    return Uncounted(baseline_value=before, candidate_value=after, blocks=sample.n, effect=effect, interval=estimate.interval)


def _timed_verdicts(case: _Case, samples: Mapping[str, PairedSample], over: Mapping[str, OverHosts]) -> dict[str, Verdict]:
    """The primary timed metrics, through the sequential rule together, or `over` several hosts."""
    if over:
        return {name: _cautious(one.verdict, case.trials) for name, one in over.items()}
    timed = [choice for choice in case.scenario.primaries if is_timed(choice.name)]
    verdicts = verdict.judge_all(
        [samples[choice.name] for choice in timed],
        spending_of(case.scenario),
        margins=[choice.margin for choice in timed],
        widening=case.trust.widening,
        distrust=case.trust.distrust if case.final else "",
        final=case.final,
        minutes_per_block=minutes_per_block(case.trials),
        planned=kind_of(case.scenario.workload).planned,
    )
    return {choice.name: _cautious(one, case.trials) for choice, one in zip(timed, verdicts, strict=True)}


def _over_hosts(case: _Case, samples: Mapping[str, PairedSample]) -> dict[str, OverHosts]:
    """The verdicts on the primary timed metrics where several hosts measured the blocks: by the plan's looks where the hosts shared one
    plan, else in one. None where one host did, or where no host can be trusted."""
    if not case.hosts.several or (case.final and case.trust.distrust):
        return {}
    shared, spending, found = any(trial.spread for trial in case.trials), spending_of(case.scenario), dict[str, OverHosts]()
    for choice in (choice for choice in case.scenario.primaries if is_timed(choice.name)):
        sample = without(samples[choice.name], case.hosts)
        found[choice.name] = judge_over_hosts(
            sample,
            spending if shared else alpha_spending.at_once(sample.n, spending),
            case.hosts,
            margin=choice.margin,
            widening=case.trust.widening,
            final=case.final,
            minutes_per_block=minutes_per_block(case.trials),
            planned=shared and kind_of(case.scenario.workload).planned,
        )
    return found


def _estimates(scenario: Scenario, samples: Mapping[str, PairedSample]) -> dict[str, exploratory.Estimate]:
    """Estimates of the timed metrics that are not primary, explored together."""
    names = [choice.name for choice in scenario.metrics if not choice.primary and is_timed(choice.name)]
    return dict(zip(names, exploratory.explore([samples[name] for name in names]), strict=True))


def _witness(row: Metric, sample: PairedSample) -> Verdict:
    if sample.broken:
        loss = sample.broken[0]
        return Verdict(
            outcome=Outcome.UNTESTABLE,
            comparison=None,
            reason=f"block {loss.block}, arm {loss.arm}: {loss.reason}",
            warnings=(),
            exact=True,
            settling=None,
        )
    return exact_counts.judge_witness(
        sample.baseline.tolist(), sample.candidate.tolist(), row.better, unit="" if row.unit == "1" else row.unit
    )


def _warnings(trials: Sequence[Record], *arms: str) -> tuple[str, ...]:
    own = [trial for trial in trials if trial.arm in arms]
    warnings = dict.fromkeys(number_format.folded(warning for trial in own for warning in trial.warnings).values())
    if _shared(own):
        warnings[SHARED_WARNING] = None
    return tuple(warnings)


def _shared(trials: Sequence[Record]) -> bool:
    return any(trial.how == "shared server" for trial in trials)


def _cautious(result: Verdict, trials: Sequence[Record]) -> Verdict:
    """The verdict; where launches were shared and it decides, its reason starts with `SUGGESTS`."""
    decides = result.outcome in (verdict.Outcome.REGRESSED, verdict.Outcome.IMPROVED, verdict.Outcome.EQUIVALENT)
    if not decides or not _shared(trials):
        return result
    return dataclasses.replace(result, reason=f"{SUGGESTS}: {result.reason.removesuffix(verdict.BEYOND)}")


def _typical_of(sample: PairedSample, blocks: int) -> tuple[float, float] | tuple[None, None]:
    """The typical values of both arms over the first `blocks` blocks."""
    if not min(blocks, sample.n):
        return None, None
    return typical(sample.baseline.tolist()[:blocks]), typical(sample.candidate.tolist()[:blocks])


def _line(versus: _Versus, choice: MetricChoice, row: Metric, sample: PairedSample, result: Verdict, extra: tuple[str, ...]) -> Judged:
    """A judged metric's line."""
    compared = result.comparison
    counted = compared.blocks if compared else sample.n
    before, after = _typical_of(sample, counted)
    exact_effect = after / before - 1 if result.exact and before and after is not None else None
    return Judged(
        scenario=versus.scenario,
        metric=sample.metric,
        unit=row.unit,
        better=row.better,
        kind=row.kind,
        primary=choice.primary,
        baseline=versus.baseline,
        candidate=versus.candidate,
        baseline_value=before,
        candidate_value=after,
        blocks=counted,
        effect=compared.effect if compared else exact_effect,
        interval=result.interval if compared else (exact_effect, exact_effect) if exact_effect is not None else None,
        level=result.level if compared else 1.0 if exact_effect is not None else None,
        margin=choice.margin,
        mde=compared.mde if compared else None,
        verdict=result.outcome,
        reason=result.reason,
        warnings=(*result.warnings, *extra),
        q=None,
    )


def _explored(
    versus: _Versus, choice: MetricChoice, row: Metric, sample: PairedSample, estimate: exploratory.Estimate, extra: tuple[str, ...]
) -> Judged:
    """The line of a metric that is estimated and never judged."""
    before, after = _typical_of(sample, sample.n)
    return Judged(
        scenario=versus.scenario,
        metric=choice.name,
        unit=row.unit,
        better=row.better,
        kind=row.kind,
        primary=False,
        baseline=versus.baseline,
        candidate=versus.candidate,
        baseline_value=before,
        candidate_value=after,
        blocks=sample.n,
        effect=estimate.effect,
        interval=estimate.interval,
        level=exploratory.LEVEL if estimate.interval else None,
        margin=choice.margin,
        mde=None,
        verdict=None,
        reason=estimate.reason,
        warnings=extra,
        q=estimate.q,
    )
