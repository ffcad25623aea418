"""The view model: every form of the report is laid out from it.

A `Page` holds scenarios; a scenario holds judged rows, trials, exact counts, attested facts, commands and the sentence that answers its
question. Values stay in base units; texts are clean (see `model.base.untrusted`). Only `build` makes a page, from rows (one judged
comparison each) and records.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from perfproof.analysis.judging import exposure
from perfproof.analysis.stats.two_speeds import two_speeds
from perfproof.analysis.trials.paired_trials import attempts, latest
from perfproof.model.base.untrusted import line, lines
from perfproof.model.records.record import Record
from perfproof.model.verdicts.accuracy_details import AccuracyDetails
from perfproof.model.verdicts.equality_details import EqualityDetails
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.model.verdicts.noise_floor import Floor
from perfproof.report.base import formatting, turned_rows, units
from perfproof.report.base.page_model import (
    ArmView,
    ExposureView,
    GrowthView,
    Page,
    RepeatView,
    ScenarioView,
    TrialView,
    TrustView,
)
from perfproof.report.extract import aa_status, changes, facts, machine_signals, pareto, planted, record_views
from perfproof.report.extract.record_views import NAME
from perfproof.report.figures import distributions
from perfproof.report.text import (
    answer_context,
    answer_text,
    caveats,
    confounders,
    exclusions,
    reasons,
    sentences,
    shown_rows,
    warning_list,
)
from perfproof.report.text.headline import headline, ordered


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Behind:
    """The data behind a scenario's verdicts, besides its records."""

    trust: TrustView
    equality: tuple[EqualityDetails, ...]
    accuracy: tuple[AccuracyDetails, ...]
    unlisted: tuple[Judged, ...]
    worse: tuple[Judged, ...]
    exposures: tuple[str, ...]
    repeats: tuple[RepeatView, ...]

    @property
    def opposite(self) -> _Behind:
        """The same, where the baseline is shown as the candidate: what got worse there got better here."""
        repeats = tuple(dataclasses.replace(one, rows=tuple(map(turned_rows.opposite, one.rows))) for one in self.repeats)
        return dataclasses.replace(self, unlisted=tuple(map(turned_rows.opposite, self.unlisted)), worse=(), repeats=repeats)


def build(
    rows: Iterable[Judged],
    records: Sequence[Record],
    *,
    made: str,
    version: str,
    results: str = "results",
    title: str = "",
    warnings: Sequence[str] = (),
    floors: Sequence[Floor] = (),
    equality: Sequence[EqualityDetails] = (),
    accuracy: Sequence[AccuracyDetails] = (),
    unlisted: Sequence[Judged] = (),
    worse: Sequence[Judged] = (),
    repeats: Mapping[str, Sequence[tuple[str, Sequence[Judged]]]] = MappingProxyType({}),
) -> Page:
    """The page for these judged rows and the records that they came from.

    `made` is the time of making, in words (this package reads no clock). `results` is the records' folder as the commands should name it.
    `floors` are the results of its A/A runs, oldest first. `equality` and `accuracy` are the data behind verdicts on answers; `unlisted`
    and `worse` are metrics that are not primary (`ScenarioView`). `repeats` are other runs of a scenario's definition, by its name, each
    with the name of its folder and its judged metrics. A scenario with records but no rows, or rows but no records, is shown as
    untestable.
    """
    judged = [_clean(row) for row in rows]
    names = dict.fromkeys([*(line(record.scenario, NAME) for record in records), *(row.scenario for row in judged)])
    of_name: dict[str, list[Record]] = {name: [] for name in names}
    for record in records:
        of_name[line(record.scenario, NAME)].append(record)
    folder = line(results)
    exposed = [found for own in of_name.values() if (found := exposure.exposure_of(own))]
    exposures = tuple(exposure.sentences(found)[0] for found in exposed)
    scenarios = []
    for name, own in of_name.items():
        behind = _Behind(
            trust=aa_status.of_scenario(name, own, floors, folder),
            equality=tuple(answer_text.clean_equality(each) for each in equality if line(each.scenario, NAME) == name),
            accuracy=tuple(answer_text.clean_accuracy(each) for each in accuracy if line(each.scenario, NAME) == name),
            unlisted=tuple(_clean(row) for row in unlisted if line(row.scenario, NAME) == name),
            worse=tuple(_clean(row) for row in worse if line(row.scenario, NAME) == name),
            exposures=exposures,
            repeats=tuple(_repeat(*one) for of, some in repeats.items() if line(of, NAME) == name for one in some),
        )
        trials = _in_order(own)
        scenarios.append(_scenario(name, [row for row in judged if row.scenario == name], trials, folder, behind))
    return Page(
        title=line(title) or "perfproof report",
        headline=headline(scenarios),
        answers=answer_text.head(scenarios),
        made=formatting.moment(line(made)),
        version=line(version),
        results=folder,
        scenarios=tuple(ordered(scenarios)),
        frontiers=tuple(pareto.frontiers(of_name)),
        machine=tuple(record_views.shown_facts(facts.environment(records))),
        warnings=tuple(formatting.sentence(warning) for warning in warnings),
        records=tuple(records),
        exposures=tuple(map(_exposure, exposed)),
    )


def _exposure(found: exposure.Exposure) -> ExposureView:
    return ExposureView(
        scenario=line(found.scenario, NAME),
        blocks=found.blocks,
        told=tuple(formatting.microseconds(each) for each in exposure.sentences(found)),
        delays=found.delays,
        costs=found.costs,
        slope=None if found.tpot is None else (100 * found.tpot.value, 100 * found.tpot.low, 100 * found.tpot.high),
    )


def _repeat(where: str, rows: Sequence[Judged]) -> RepeatView:
    return RepeatView(where=line(where, NAME), rows=tuple(_clean(row) for row in rows))


def _in_order(records: Sequence[Record]) -> list[Record]:
    """The records by block, and by attempt where a block was measured again. Valid trials of an earlier attempt do not count either."""
    counted = {id(record) for record in latest(records)}
    ordered = sorted(attempts(records), key=lambda one: (one[0].block, one[1], one[0].position))
    return [record if record.status != "ok" or id(record) in counted else _replaced(record) for record, _ in ordered]


def _replaced(record: Record) -> Record:
    return dataclasses.replace(record, status="invalid", reason=exclusions.REPLACED)


def _clean(row: Judged) -> Judged:
    texts = {name: line(getattr(row, name), NAME) for name in ("scenario", "metric", "unit", "baseline", "candidate")}
    warnings = tuple(formatting.sentence(warning) for warning in row.warnings)
    return dataclasses.replace(row, **texts, reason=record_views.sentence(row.reason), warnings=warnings)  # type: ignore[arg-type]


def _scenario(name: str, rows: list[Judged], records: list[Record], results: str, behind: _Behind) -> ScenarioView:
    """A scenario of these rows and records; the records are in the order of blocks and places."""
    trials = tuple(record_views.trial(record) for record in records)
    definition = records[-1].definition if records else {}
    arms = record_views.arms(definition, rows, records)
    if changes.patched_baseline(arms, records) and not any(row.in_points for row in rows):
        rows, behind = list(map(turned_rows.opposite, rows)), behind.opposite
        arms = record_views.arms(definition, rows, records)
    names = [arm.name for arm in arms]
    itself = aa_status.against_itself(definition)
    growths = tuple(distributions.growths(names, records))
    altered = caveats.restored(arms, definition, records)
    controls = {} if itself else planted.controls(arms, definition, bool(altered))
    out = frozenset() if itself or altered else changes.taken_out(arms, records) - set(controls)
    judging = [row for row in rows if row.candidate not in out and row.candidate not in controls] or rows
    outcome = formatting.outcome(judging)
    swayed = [(row, caveats.sways(row, trials, bool(altered))) for row in rows if _is_open(row)]
    rows = [reasons.on_page(row, any(row is other and clause for other, clause in swayed)) for row in rows]
    rows = [shown_rows.foretold(row, bool(altered), row.candidate in out, controls.get(row.candidate)) for row in rows]
    unjudged = exclusions.unjudged(rows, trials)
    borne = (*caveats.controls(controls), *caveats.clauses(rows, arms, definition, records, trials, behind.exposures))
    return ScenarioView(
        name=name,
        question=line(definition.get("question", "")),
        answer=sentences.check(name, outcome, rows) if itself else _answer(name, rows, growths, altered, bool(controls)),
        ran=answer_context.ran(arms, definition, records, itself),
        sure=answer_context.sure(rows, outcome),
        turning=answer_context.turning(rows, outcome, itself),
        provisos=borne,
        itself=itself,
        unpatched=caveats.no_patch(arms, definition, records) or {row.candidate for row in judging} <= out,
        kind=record_views.kind(definition),
        outcome=Outcome.UNTESTABLE if itself and outcome in (Outcome.IMPROVED, Outcome.REGRESSED) else outcome,
        suggests=not itself and formatting.suggests(judging, outcome),
        rows=tuple(rows),
        arms=arms,
        trials=trials,
        witnesses=tuple(record_views.witnesses(names, records)),
        work=tuple(record_views.work(records)),
        growths=growths,
        spreads=tuple(distributions.spreads(names, records)),
        signals=tuple(machine_signals.signals(records)),
        reasons=machine_signals.clock_reasons(records),
        trust=behind.trust,
        equality=behind.equality,
        accuracy=behind.accuracy,
        attestations=tuple(record_views.shown_facts(facts.attestations(names, records, lambda record: line(record.arm, NAME)))),
        unjudged=unjudged,
        warnings=warning_list.every(rows, records, borne),
        commands=tuple(facts.commands(name, records, results)),
        definition=lines(facts.as_yaml(definition), most=400) if definition else "",
        seconds=facts.seconds(records),
        unlisted=behind.unlisted,
        worse=() if itself else behind.worse,
        altered=altered,
        changes=(changes.altered if altered else changes.changes)(arms, definition, records),
        planted=controls,
        taken_out=out,
        machine=answer_context.machine(records[-1].environment) if records else "",
        cores=record_views.cores(records),
        model=caveats.model(definition),
        model_size=caveats.model_size(definition),
        unlike=tuple(confounders.in_brief(definition)),
        speeds=tuple(_speeds(rows, arms, trials)),
        swayed=tuple((row.metric, row.candidate, clause) for row, clause in swayed if clause),
        repeats=behind.repeats,
        gpus=any(bool(record.environment.get("gpus")) for record in records),
        runner=facts.model_runner(records),
    )


def _answer(name: str, rows: Sequence[Judged], growths: Sequence[GrowthView], altered: str, control: bool) -> str:
    """The scenario's sentence; where the baseline is altered it says what taking the released change out costs."""
    named = f"{name}, planted on purpose" if control else name
    if not altered:
        return sentences.answer(named, rows, growths)
    turned = [row if row.in_points else turned_rows.turned(row) for row in rows]
    return sentences.answer(named if control else f"{name}, what taking the released change out costs", turned, growths)


def _is_open(row: Judged) -> bool:
    return row.primary and row.verdict == Outcome.INCONCLUSIVE


def _speeds(rows: Sequence[Judged], arms: Sequence[ArmView], trials: Sequence[TrialView]) -> Iterable[str]:
    """A clause for every arm whose trials of a primary metric ran at two speeds."""
    for row in {row.metric: row for row in rows if row.primary and not row.exact and not row.in_points}.values():
        for arm in arms:
            values = [trial.values[row.metric] for trial in trials if trial.ok and trial.arm == arm.name and row.metric in trial.values]
            if found := two_speeds(values):
                yield f"{arm.name} ran at two speeds ({units.rough(found[0], row.unit)} and {units.rough(found[1], row.unit)})"
