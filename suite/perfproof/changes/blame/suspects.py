"""What two counted trials, of the good and of the bad build, say before any mixture is made: which metric shows the change, which functions
ran, and which of them do more or less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.analysis.stats.number_format import percent
from perfproof.analysis.trials import counted_rounds
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.records.count_tables import read_table, told_of
from perfproof.model.records.counts import Metric, PhaseWork, numbers_of, outermost
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import base_name, is_timed
from perfproof.model.scenarios.scenario import Scenario

INSTRUCTIONS: Metric = "python_instructions"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionShare:
    """A function's own part of the whole change of Python instructions: `change` instructions, `share` of the change."""

    function: str
    before: int
    change: int
    share: float


def value_of(record: Record, name: str) -> float | None:
    """An exact count of a trial; None where it left none of that name."""
    found = record.witnesses.get(name)
    return float(found) if found is not None else counted_rounds.totals(record).get(name)


def changed_count(scenario: Scenario, good: Record, bad: Record, wanted: str | None) -> str | None:
    """The count that shows the change: the one asked for, else the first that differs, primary ones before others; None where none does.

    Raises `CannotRun` where the one asked for does not differ, `BadInput` where a trial has none.
    """
    names = [wanted] if wanted else list(_names(scenario, good, bad))
    for name in names:
        before, after = value_of(good, name), value_of(bad, name)
        if before is None or after is None:
            if wanted:
                there = ", ".join(_names(scenario, good, bad))
                raise BadInput(f"--metric {wanted}: the trials left no such count; there are {there or 'none'}")
        elif abs(after - before) > scenario.count_margin(name) * abs(before):
            return name
    if wanted:
        before, after = value_of(good, wanted), value_of(bad, wanted)
        same = f"is the same in both builds ({before:,g})"
        if after != before:
            same = f"is {before:,g} and {after:,g}, within the margin of {percent(scenario.count_margin(wanted), signed=False)}"
        raise CannotRun(f"{wanted} {same}: there is nothing to find")
    return None


def _names(scenario: Scenario, good: Record, bad: Record) -> Iterator[str]:
    """The counts of both trials: the primary ones, those of the case that stands for all, then all others."""
    both = [name for name in {**good.witnesses, **counted_rounds.totals(good)} if value_of(bad, name) is not None]
    chosen = [choice.name for choice in scenario.primaries if not is_timed(choice.name)]
    first = [name for choice in chosen for name in both if name == choice or name == f"{choice}@{scenario.workload.case}"]
    others = [choice.name for choice in scenario.metrics]
    second = [name for name in both if name in others or base_name(name) in others]
    yield from dict.fromkeys([*first, *second, *both])


# --- functions ----------------------------------------------------------------------------------------------


def round_of(folder: Path, record: Record, name: str) -> PhaseWork | None:
    """What a trial did, function by function, in the case of a metric; the first case where that has none. None: it kept no table."""
    case = name.partition("@")[2]
    table = read_table(folder, record)
    if table is not None:
        phases = {f"{phase}, {cell.feature}, {cell.requests} requests": work for cell in table.cells for phase, work in cell.phases.items()}
        return phases.get(case) or next(iter(phases.values()), None)
    rounds = counted_rounds.rounds(record)
    return rounds.get(case) or next(iter(rounds.values()), None)


def split(good: PhaseWork, bad: PhaseWork) -> list[FunctionShare]:
    """The change of Python instructions, function by function, the largest first.

    Source: none, differences of exact counts.
    """
    before, after = numbers_of(good, INSTRUCTIONS), numbers_of(bad, INSTRUCTIONS)
    odd = {*good.odd, *bad.odd}
    changes = {name: after.get(name, 0) - before.get(name, 0) for name in {**before, **after} if name not in odd}
    whole = sum(changes.values())
    found = [
        FunctionShare(function=name, before=before.get(name, 0), change=change, share=change / whole if whole else 0.0)
        for name, change in changes.items()
        if change
    ]
    return sorted(found, key=lambda one: (-abs(one.change), one.function))


def ran(rounds: Sequence[PhaseWork], shares: Sequence[FunctionShare], exercises: Sequence[str]) -> dict[str, float]:
    """Every function that ran in one of these rounds, with how much it is suspected: by how much it changed, above nothing where it ran,
    and more where the scenario is about it."""
    found = {outermost(name): 1.0 for work in rounds for name in work.functions}
    for one in shares:
        name = outermost(one.function)
        found[name] = found.get(name, 1.0) + abs(one.change)
    for name in exercises:
        found[name] = found.get(name, 1.0) * 2 if ":" in name else found.get(name, 1.0)
    return found


def outputs_of(record: Record, name: str) -> str:
    """What the trial's requests answered in the case of a metric, as a digest; "" where nothing answers."""
    outputs = told_of(record).get("outputs")
    return str(outputs.get(name.partition("@")[2], "")) if isinstance(outputs, Mapping) else ""
