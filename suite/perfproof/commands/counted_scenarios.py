"""What the scenarios of a results folder counted, function by function: their tables compared, as the page shows them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from perfproof.analysis.counts.count_comparison import Where, compare, disagreeing
from perfproof.analysis.counts.count_document import document
from perfproof.analysis.trials.paired_trials import counts, latest
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.decode import scenario_of
from perfproof.model.kinds import kind_in
from perfproof.model.records.count_tables import read_table
from perfproof.model.records.counts import Count
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario


def documents(results: Path, records: Sequence[Record]) -> tuple[list[tuple[str, dict[str, Any]]], list[str]]:
    """A document for each scenario that counts and each of its candidates, with a name; and what can't be shown, in sentences."""
    found, lost = list[tuple[str, dict[str, Any]]](), list[str]()
    for name, mine in _by_scenario(records).items():
        scenario = dataclasses.replace(scenario_of(mine[0].definition, source=f"the records of {name}"), name=name)
        try:
            found += _compared(results, scenario, latest(mine))
        except BadInput as error:
            lost += [f"{name}: its functions are not shown: {fault}" for fault in error.faults]
    return found, lost


def _by_scenario(records: Sequence[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        if (kind := kind_in(record.definition)) is not None and kind.judged_by == "counts":
            found.setdefault(record.scenario, []).append(record)
    return found


def _compared(results: Path, scenario: Scenario, trials: Sequence[Record]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The baseline's table against that of each candidate; what two processes of an arm count otherwise is left out."""
    tables = {arm.name: _tables(results, arm.name, trials) for arm in scenario.arms}
    base, margin = scenario.baseline.name, min(choice.margin for choice in scenario.metrics)
    for arm in scenario.candidates:
        if tables[base] and tables[arm.name]:
            sides = tables[base], tables[arm.name]
            unsteady = _unsteady(sides)
            seen = compare(sides[0][0], sides[1][0], margin=margin, unsteady=unsteady)
            title = scenario.name if len(scenario.candidates) == 1 else f"{scenario.name}, {arm.name}"
            yield title, document(seen, {}, seen.warnings, builds=(base, arm.name))


def _tables(results: Path, arm: str, trials: Sequence[Record]) -> list[Count]:
    mine = sorted((trial for trial in trials if trial.arm == arm and counts(trial)), key=lambda trial: trial.block)
    return [table for trial in mine if (table := read_table(results, trial)) is not None]


def _unsteady(sides: Sequence[Sequence[Count]]) -> dict[Where, frozenset[str]]:
    found: dict[Where, frozenset[str]] = {}
    for first, *others in sides:
        for other in others:
            for where, names in disagreeing(first, other).items():
                found[where] = found.get(where, frozenset()) | names
    return found
