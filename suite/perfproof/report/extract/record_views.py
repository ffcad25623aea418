"""Parts of the view model that records alone give: trials, arms, exact counts, work, and facts. Texts are clean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perfproof.analysis.trials.paired_trials import counts
from perfproof.model.base.first_words import first_words
from perfproof.model.base.untrusted import line, lines
from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting
from perfproof.report.base.page_model import ArmView, Fact, TrialView, WitnessView, WorkView
from perfproof.report.extract import facts

NAME = 160
"""Most characters of a name as shown."""


def sentence(reason: str) -> str:
    """A reason in a line. The rest is the end of a log, which is shown once, with its trial."""
    return formatting.sentence(first_words(reason))


def kind(definition: Mapping[str, Any]) -> str:
    """The kind of the workload; "" if the definition names none."""
    workload = definition.get("workload")
    return line(workload.get("kind", ""), NAME) if isinstance(workload, Mapping) else ""


def cores(records: Sequence[Record]) -> int | None:
    """The fewest cores of the machines."""
    found = (record.environment.get("cores_of_machine") or record.environment.get("cores") for record in records)
    return min((each for each in found if type(each) is int), default=None)


def shown_facts(found: Iterable[facts.Found]) -> Iterable[Fact]:
    """Facts in clean texts."""
    for name, values, differs in found:
        yield Fact(name=line(name, NAME), values=tuple(line(value) for value in values), differs=differs)


def trial(record: Record) -> TrialView:
    """A trial as the page lists it."""
    values = {**record.measurements, **record.witnesses}
    return TrialView(
        block=record.block,
        position=record.position,
        arm=line(record.arm, NAME),
        status=record.status,
        reason=sentence(record.reason),
        detail=lines(record.reason.strip().partition("\n")[2]),
        how=line(record.how),
        started=formatting.moment(line(record.started)),
        values={line(name, NAME): float(value) for name, value in values.items()},
        warnings=tuple(formatting.sentence(warning) for warning in record.warnings),
        log=line(record.log),
    )


def arms(definition: Mapping[str, Any], rows: Sequence[Judged], records: Sequence[Record]) -> tuple[ArmView, ...]:
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


def witnesses(arms: Sequence[str], records: Sequence[Record]) -> Iterable[WitnessView]:
    """The exact counts of the trials, by arm."""
    names = dict.fromkeys(name for record in records if counts(record) for name in record.witnesses)
    for name in names:
        seen: dict[str, set[float]] = {arm: set() for arm in arms}
        for record in records:
            if counts(record) and name in record.witnesses:
                seen[line(record.arm, NAME)].add(float(record.witnesses[name]))
        unit, better = formatting.unit_of(name)
        yield WitnessView(name=line(name, NAME), unit=unit, better=better, values=tuple(tuple(sorted(seen[arm])) for arm in arms))


def work(records: Sequence[Record]) -> Iterable[WorkView]:
    """The work that the trials did, and the blocks whose arms did not do the same."""
    for name in dict.fromkeys(name for record in records for name in record.work):
        of_block: dict[int, set[int]] = {}
        for record in records:
            if record.status == "ok" and name in record.work:
                of_block.setdefault(record.block, set()).add(int(record.work[name]))
        values = tuple(sorted(set().union(*of_block.values()))) if of_block else ()
        unequal = tuple(sorted(block for block, seen in of_block.items() if len(seen) > 1))
        yield WorkView(name=line(name, NAME), values=values, unequal=unequal)
