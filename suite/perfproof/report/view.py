"""The view model: every form of the report is laid out from it.

A `Page` holds scenarios; a scenario holds judged rows, trials, exact counts, attested facts, commands and the sentence that answers its
question. Values stay in base units; texts are clean (see `model.base.untrusted`). Only `build` makes a page, from rows (one judged
comparison each) and records.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from perfproof.analysis.judging import exposure
from perfproof.analysis.stats.number_format import folded, shape
from perfproof.analysis.stats.two_speeds import two_speeds
from perfproof.analysis.trials.paired_trials import attempts, counts, latest
from perfproof.model.base.first_words import first_words
from perfproof.model.base.untrusted import line, lines
from perfproof.model.records.record import Record
from perfproof.model.verdicts.accuracy_details import AccuracyDetails
from perfproof.model.verdicts.equality_details import EqualityDetails
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.model.verdicts.noise_floor import Floor
from perfproof.report.base import formatting, units
from perfproof.report.base.page_model import (
    ArmView,
    ExposureView,
    Fact,
    GrowthView,
    Page,
    RepeatView,
    ScenarioView,
    TrialView,
    TrustView,
    WitnessView,
    WorkView,
)
from perfproof.report.extract import aa_status, changes, facts, machine_signals, pareto
from perfproof.report.figures import distributions
from perfproof.report.text import answer_context, answer_text, caveats, confounders, exclusions, reasons, sentences
from perfproof.report.text.headline import headline, ordered

REACH = "these blocks could only have detected "
"""How a warning begins that stands beside the answer already, as the effect that could have been detected."""
NAME = 160
"""Most characters of a name as shown."""


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
        machine=tuple(_facts(Fact, facts.environment(records))),
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
    return dataclasses.replace(row, **texts, reason=_sentence(row.reason), warnings=warnings)  # type: ignore[arg-type]


def _scenario(name: str, rows: list[Judged], records: list[Record], results: str, behind: _Behind) -> ScenarioView:
    """A scenario of these rows and records; the records are in the order of blocks and places."""
    trials = tuple(_trial(record) for record in records)
    definition = records[-1].definition if records else {}
    arms = _arms(definition, rows, records)
    names = [arm.name for arm in arms]
    outcome, itself = formatting.outcome(rows), aa_status.against_itself(definition)
    growths = tuple(distributions.growths(names, records))
    altered = caveats.restored(arms, definition, records)
    swayed = [(row, caveats.sways(row, trials, bool(altered))) for row in rows if _is_open(row)]
    rows = [reasons.on_page(row, any(row is other and clause for other, clause in swayed)) for row in rows]
    unjudged = exclusions.unjudged(rows, trials)
    borne = tuple(caveats.clauses(rows, arms, definition, records, trials, behind.exposures))
    return ScenarioView(
        name=name,
        question=line(definition.get("question", "")),
        answer=sentences.check(name, outcome, rows) if itself else _answer(name, rows, growths, altered),
        ran=answer_context.ran(arms, definition, records, itself),
        sure=answer_context.sure(rows, outcome),
        turning=answer_context.turning(rows, outcome, itself),
        provisos=borne,
        itself=itself,
        unpatched=caveats.no_patch(arms, definition, records),
        kind=_kind(definition),
        outcome=Outcome.UNTESTABLE if itself and outcome in (Outcome.IMPROVED, Outcome.REGRESSED) else outcome,
        suggests=not itself and formatting.suggests(rows, outcome),
        rows=tuple(rows),
        arms=arms,
        trials=trials,
        witnesses=tuple(_witnesses(names, records)),
        work=tuple(_work(records)),
        growths=growths,
        spreads=tuple(distributions.spreads(names, records)),
        signals=tuple(machine_signals.signals(records)),
        reasons=machine_signals.clock_reasons(records),
        trust=behind.trust,
        equality=behind.equality,
        accuracy=behind.accuracy,
        attestations=tuple(_facts(Fact, facts.attestations(names, records, lambda record: line(record.arm, NAME)))),
        unjudged=unjudged,
        warnings=_warnings(rows, records, borne),
        commands=tuple(facts.commands(name, records, results)),
        definition=lines(facts.as_yaml(definition), most=400) if definition else "",
        seconds=facts.seconds(records),
        unlisted=behind.unlisted,
        worse=() if itself else behind.worse,
        altered=altered,
        changed=_changes(arms, definition, records),
        machine=answer_context.machine(records[-1].environment) if records else "",
        cores=_cores(records),
        model=caveats.model(definition),
        model_size=caveats.model_size(definition),
        unlike=tuple(confounders.in_brief(definition)),
        speeds=tuple(_speeds(rows, arms, trials)),
        swayed=tuple((row.metric, row.candidate, clause) for row, clause in swayed if clause),
        repeats=behind.repeats,
        runner=facts.model_runner(records),
    )


def _answer(name: str, rows: Sequence[Judged], growths: Sequence[GrowthView], altered: str) -> str:
    """The scenario's sentence; where the baseline is altered it says what taking the released change out costs."""
    if not altered:
        return sentences.answer(name, rows, growths)
    turned = [formatting.turned(row) if row.effect is not None and not row.in_points else row for row in rows]
    return sentences.answer(f"{name}, what taking the released change out costs", turned, growths)


def _changes(arms: Sequence[ArmView], definition: Mapping[str, Any], records: Sequence[Record]) -> tuple[tuple[str, str], ...]:
    """What the candidates change; where they are vLLM as released, what alters the baseline."""
    if caveats.restored(arms, definition, records):
        return changes.altered(arms, definition, records)
    return changes.changes(arms, definition, records)


def _cores(records: Sequence[Record]) -> int | None:
    """The fewest cores of the machines."""
    counts = (record.environment.get("cores_of_machine") or record.environment.get("cores") for record in records)
    return min((each for each in counts if type(each) is int), default=None)


def _is_open(row: Judged) -> bool:
    return row.primary and row.verdict == Outcome.INCONCLUSIVE


def _speeds(rows: Sequence[Judged], arms: Sequence[ArmView], trials: Sequence[TrialView]) -> Iterable[str]:
    """A clause for every arm whose trials of a primary metric ran at two speeds."""
    for row in {row.metric: row for row in rows if row.primary and not row.exact and not row.in_points}.values():
        for arm in arms:
            values = [trial.values[row.metric] for trial in trials if trial.ok and trial.arm == arm.name and row.metric in trial.values]
            if found := two_speeds(values):
                yield f"{arm.name} ran at two speeds ({units.rough(found[0], row.unit)} and {units.rough(found[1], row.unit)})"


def _kind(definition: Mapping[str, Any]) -> str:
    workload = definition.get("workload")
    return line(workload.get("kind", ""), NAME) if isinstance(workload, Mapping) else ""


def _sentence(reason: str) -> str:
    """A reason in a line. The rest is the end of a log, which is shown once, with its trial."""
    return formatting.sentence(first_words(reason))


def _facts(make: Callable[..., Fact], facts: Iterable[tuple[str, tuple[str, ...], bool]]) -> Iterable[Fact]:
    return (make(name=line(name, NAME), values=tuple(line(value) for value in values), differs=differs) for name, values, differs in facts)


def _trial(record: Record) -> TrialView:
    values = {**record.measurements, **record.witnesses}
    return TrialView(
        block=record.block,
        position=record.position,
        arm=line(record.arm, NAME),
        status=record.status,
        reason=_sentence(record.reason),
        detail=lines(record.reason.strip().partition("\n")[2]),
        how=line(record.how),
        started=formatting.moment(line(record.started)),
        values={line(name, NAME): float(value) for name, value in values.items()},
        warnings=tuple(formatting.sentence(warning) for warning in record.warnings),
        log=line(record.log),
    )


def _arms(definition: Mapping[str, Any], rows: Sequence[Judged], records: Sequence[Record]) -> tuple[ArmView, ...]:
    """The arms in the order of the definition, the baseline first; arms that only records or rows name come last."""
    defined = facts.defined_arms(definition)
    seen = [line(record.arm, NAME) for record in records] + [arm for row in rows for arm in (row.baseline, row.candidate)]
    baseline = next((row.baseline for row in rows), None) or next((line(arm["name"], NAME) for arm in defined if arm.get("baseline")), None)
    of_name = {line(arm["name"], NAME): arm for arm in defined}
    names = list(dict.fromkeys([*([baseline] if baseline else []), *of_name, *seen]))
    return tuple(_arm(name, name == baseline, of_name.get(name, {}), [r for r in records if line(r.arm, NAME) == name]) for name in names)


def _arm(name: str, baseline: bool, defined: Mapping[str, Any], records: Sequence[Record]) -> ArmView:
    return ArmView(
        name=name,
        baseline=baseline,
        build=line(facts.build_of(defined, records)),
        version=line(next((record.attestation.vllm_version for record in records if record.attestation), "")),
        patches=tuple(line(patch, NAME) for patch in defined.get("patches") or ()),
        settings=tuple(line(setting) for setting in facts.settings(defined)),
        trials=len(records),
        valid=sum(record.status == "ok" for record in records),
        attested=sum(record.attestation is not None for record in records),
    )


def _witnesses(arms: Sequence[str], records: Sequence[Record]) -> Iterable[WitnessView]:
    names = dict.fromkeys(name for record in records if counts(record) for name in record.witnesses)
    for name in names:
        seen: dict[str, set[float]] = {arm: set() for arm in arms}
        for record in records:
            if counts(record) and name in record.witnesses:
                seen[line(record.arm, NAME)].add(float(record.witnesses[name]))
        unit, better = formatting.unit_of(name)
        yield WitnessView(name=line(name, NAME), unit=unit, better=better, values=tuple(tuple(sorted(seen[arm])) for arm in arms))


def _work(records: Sequence[Record]) -> Iterable[WorkView]:
    for name in dict.fromkeys(name for record in records for name in record.work):
        of_block: dict[int, set[int]] = {}
        for record in records:
            if record.status == "ok" and name in record.work:
                of_block.setdefault(record.block, set()).add(int(record.work[name]))
        values = tuple(sorted(set().union(*of_block.values()))) if of_block else ()
        unequal = tuple(sorted(block for block, seen in of_block.items() if len(seen) > 1))
        yield WorkView(name=line(name, NAME), values=values, unequal=unequal)


def _warnings(rows: Sequence[Judged], records: Sequence[Record], borne: Sequence[str]) -> tuple[str, ...]:
    """Every warning once: those of the comparisons, then those of the trials with their number; none that `borne` already holds.

    A warning of some comparisons names them. A warning of trials is not repeated for the comparisons made from them. Warnings that differ
    only in numbers are one, with the range.
    """
    one_for = folded(formatting.sentence(warning) for record in records for warning in record.warnings)
    counts = Counter(sentence for record in records for sentence in {one_for[formatting.sentence(warning)] for warning in record.warnings})
    known = {shape(sentence) for sentence in one_for}
    pairs = [
        (row, each)
        for row in rows
        for each in row.warnings
        if shape(each) not in known and not each.startswith(REACH) and not caveats.tells(borne, row, each)
    ]
    timed = sum(row.verdict is not None and not row.exact for row in rows)
    saying: dict[str, list[Judged]] = {}
    for row, warning in pairs:
        saying.setdefault(warning, []).append(row)
    several = len({row.candidate for row in rows}) > 1
    lines = [warning if len(sources) >= timed else f"{sentences.who(sources, several)}: {warning}" for warning, sources in saying.items()]
    trials = (f"{warning} (in {_where(warning, count, one_for, records)})" for warning, count in counts.items())
    return tuple(dict.fromkeys([*lines, *trials]))


def _where(warning: str, count: int, one_for: Mapping[str, str], records: Sequence[Record]) -> str:
    """The trials that gave a warning: "all 12 trials", "all 6 trials of a, none of the other arm", "4 of 12 trials: 3 of a, 1 of b"."""
    of_arm = Counter(line(r.arm, NAME) for r in records if any(one_for[formatting.sentence(each)] == warning for each in r.warnings))
    if count == len(records):
        return f"all {count} trials" if count > 1 else "the only trial"
    if len(of_arm) > 1:
        return f"{count} of {len(records)} trials: {', '.join(f'{number} of {arm}' for arm, number in of_arm.items())}"
    arm = next(iter(of_arm))
    own = sum(line(r.arm, NAME) == arm for r in records)
    others = len({r.arm for r in records}) - 1
    rest = f", none of the other arm{'s' if others > 1 else ''}" if others else ""
    return f"{'all' if count == own else f'{count} of the'} {own} trials of {arm}{rest}"
