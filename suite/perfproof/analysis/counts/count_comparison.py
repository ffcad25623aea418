"""Two counts of the same work, compared: exact numbers, a margin, and the functions behind a change.

Counts that one side did not repeat exactly are reported and left out on both sides. Requests with different outputs did other work and are
not compared. Fewer instructions are less Python work, not an improvement, because work inside a C call is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from perfproof.model.base.name_lists import few
from perfproof.model.records.counts import (
    DEVICE,
    METRICS,
    Cell,
    Count,
    FunctionWork,
    Metric,
    PhaseWork,
    function_of,
    numbers_of,
    of_requests,
    outermost,
)

CountVerdict = Literal["identical", "equivalent", "regressed", "less", "untestable"]
WORDS: Mapping[CountVerdict, str] = {
    "regressed": "more Python work",
    "less": "less Python work",
    "untestable": "other work",
    "equivalent": "equivalent",
    "identical": "identical",
}
"""What each verdict is called, the worst first but for `less`."""
NOTHING = FunctionWork(instructions=0, calls=0, inclusive=0, c_calls=0, line=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A function, C call or operator whose number changed: its old number and the change. `inclusive` is the change including all that it
    calls; `touched` says that its own code differs."""

    name: str
    base: int
    change: int
    inclusive: int
    touched: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One metric of one phase of a cell on both sides. `change` is relative, None where there was nothing; `changed` are the functions,
    C calls or operators behind it, the worst first; `makers` of C calls the functions that make more or fewer of them; `reason` is there
    where it is untestable."""

    feature: str
    phase: str
    requests: int
    metric: Metric
    steps: int
    baseline: int
    candidate: int
    change: float | None
    verdict: CountVerdict
    changed: tuple[Changed, ...]
    makers: tuple[Changed, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """All that was compared, in the order of the matrix, and what is to be known beside it."""

    compared: tuple[Compared, ...]
    warnings: tuple[str, ...]

    lost: tuple[tuple[str, int], ...]
    """Cells that the base could count and the candidate could not, for a fault."""

    @property
    def differing(self) -> list[tuple[str, int]]:
        """The cells in which something differs."""
        return list(dict.fromkeys((one.feature, one.requests) for one in self.compared if one.verdict != "identical"))


Where = tuple[str, int, str]
"""A feature, its requests, a phase."""


def compare(
    base: Count, candidate: Count, *, margin: float, touched: Collection[str] = (), unsteady: Mapping[Where, Collection[str]] | None = None
) -> Comparisons:
    """Compares what both sides counted. `touched` are functions whose code differs; `unsteady` names on which the processes of a side do
    not agree: they are left out, as is what was odd within a process.

    Source: none, differences of exact counts.
    """
    compared: list[Compared] = []
    warnings = [*_absent(base, candidate)]
    for cell in base.cells:
        other = candidate.cell(cell.key)
        if other is None:
            continue
        why = other_work(cell, other)
        for phase in cell.phases:
            if phase not in other.phases:
                warnings.append(f"{cell.feature}{of_requests(cell.requests)}: the candidate has no phase {phase}")
                continue
            found = {*(unsteady or {}).get((*cell.key, phase), ()), *cell.phases[phase].odd, *other.phases[phase].odd}
            warnings += _odd_notes(cell, phase, [cell.phases[phase], other.phases[phase]], found)
            for metric in metrics_of(cell.phases[phase], other.phases[phase]):
                compared.append(_compared(cell, other, phase, metric, margin, touched, found, why))
    lost = tuple(cell.key for cell in base.cells if candidate.cell(cell.key) is None and not candidate.has(*cell.key))
    return Comparisons(compared=tuple(compared), warnings=tuple(dict.fromkeys(warnings)), lost=lost)


def disagreeing(first: Count, second: Count) -> dict[Where, frozenset[str]]:
    """The names of functions, C calls and operators in which two processes of the same build differ, by phase, in cells that both have.

    Source: none, differences of exact counts.
    """
    found: dict[Where, frozenset[str]] = {}
    for cell in second.cells:
        before = first.cell(cell.key)
        for phase, now in cell.phases.items() if before is not None else ():
            was = before.phases.get(phase, now) if before is not None else now
            if names := frozenset(name for metric in METRICS for name in _differing(was, now, metric)):
                found[(*cell.key, phase)] = names
    return found


def other_work(base: Cell, candidate: Cell) -> str:
    """Where the outputs first differ, in words; "" where they are the same.

    Source: none, differences of exact counts.
    """
    if base.runner != candidate.runner and base.runner and candidate.runner:
        return f"the model runner was {base.runner} and is {candidate.runner}"
    for request, (was, now) in enumerate(zip(base.outputs, candidate.outputs, strict=False)):
        for output, (one, other) in enumerate(zip(was, now, strict=False)):
            place = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
            which = f"request {request}" + (f", output {output}" if len(was) > 1 else "")
            if place is not None:
                return f"{which}: token {place + 1} was {one[place]} and is {other[place]}"
            if len(one) != len(other):
                return f"{which}: had {len(one)} tokens and has {len(other)}"
        if len(was) != len(now):
            return f"request {request}: had {len(was)} outputs and has {len(now)}"
    if len(base.outputs) != len(candidate.outputs):
        return f"{len(base.outputs)} requests were answered, and are {len(candidate.outputs)}"
    return ""


def ran(counts: Iterable[Count], names: Collection[str]) -> frozenset[str]:
    """Which of these functions ran anywhere in the counts.

    Source: none, differences of exact counts.
    """
    there = {name for count in counts for cell in count.cells for phase in cell.phases.values() for name in phase.functions}
    return frozenset(name for name in names if name in there or any(one.startswith(f"{name}.<locals>.") for one in there))


def _compared(
    cell: Cell,
    other: Cell,
    phase: str,
    metric: Metric,
    margin: float,
    touched: Collection[str],
    left: Collection[str],
    why: str,
) -> Compared:
    was, now = cell.phases[phase], other.phases[phase]
    numbers = [{name: value for name, value in numbers_of(side, metric).items() if name not in left} for side in (was, now)]
    base, candidate = (sum(side.values()) for side in numbers)
    changed = changes(was, now, metric, numbers, touched)
    change = candidate / base - 1 if base else None if candidate else 0.0
    verdict: CountVerdict = "untestable" if why else _verdict(base, candidate, margin, bool(changed))
    return Compared(
        feature=cell.feature,
        phase=phase,
        requests=cell.requests,
        metric=metric,
        steps=now.steps,
        baseline=base,
        candidate=candidate,
        change=change,
        verdict=verdict,
        changed=tuple(changed),
        makers=_makers(was, now, touched, candidate - base) if metric == "c_calls" else (),
        reason=f"other work: {why}" if why else "",
    )


def _verdict(base: int, candidate: int, margin: float, changed: bool) -> CountVerdict:
    if abs(candidate - base) > margin * base:
        return "regressed" if candidate > base else "less"
    return "equivalent" if changed else "identical"


def metrics_of(*sides: PhaseWork) -> list[Metric]:
    """The metrics that say something of these phases: a GPU's only where one was counted.

    Source: none, differences of exact counts.
    """
    return [metric for metric in METRICS if metric not in DEVICE or any(side.device for side in sides)]


def _differing(was: PhaseWork, now: PhaseWork, metric: Metric) -> Iterator[str]:
    before, after = numbers_of(was, metric), numbers_of(now, metric)
    return (name for name in {**before, **after} if before.get(name, 0) != after.get(name, 0))


def changes(
    was: PhaseWork, now: PhaseWork, metric: Metric, numbers: Sequence[Mapping[str, int]], touched: Collection[str] = ()
) -> list[Changed]:
    """What differs between two rounds, of these numbers by name, the worst first.

    Source: none, differences of exact counts.
    """
    total = sum(numbers[1].values()) - sum(numbers[0].values())
    return sorted(_changed(was, now, metric, numbers, touched), key=lambda one: _rank(one, total))


def _changed(
    was: PhaseWork, now: PhaseWork, metric: Metric, numbers: Sequence[Mapping[str, int]], touched: Collection[str]
) -> Iterator[Changed]:
    for name in {**numbers[0], **numbers[1]}:
        base, change = numbers[0].get(name, 0), numbers[1].get(name, 0) - numbers[0].get(name, 0)
        ours = name in touched or outermost(name) in touched
        whole = change
        if metric == "python_instructions":
            whole = now.functions.get(name, NOTHING).inclusive - was.functions.get(name, NOTHING).inclusive
        if change or (ours and whole):
            yield Changed(name=name, base=base, change=change, inclusive=whole, touched=ours)


def _makers(was: PhaseWork, now: PhaseWork, touched: Collection[str], total: int) -> tuple[Changed, ...]:
    """The functions that make more or fewer C calls, the worst first."""
    sides: list[Counter[str]] = [Counter(), Counter()]
    for side, phase in zip(sides, (was, now), strict=True):
        for name, one in phase.functions.items():
            side[function_of(name)] += one.c_calls
    found = [
        Changed(name=name, base=sides[0][name], change=change, inclusive=change, touched=name in touched)
        for name in dict.fromkeys([*sides[0], *sides[1]])
        if (change := sides[1][name] - sides[0][name])
    ]
    return tuple(sorted(found, key=lambda one: _rank(one, total)))


def _rank(one: Changed, total: int) -> tuple[bool, int, str]:
    """The worst first, but what the change touched before all else: a callee that it calls more often is none of the callee's doing. Where
    the whole fell, what fell most comes first."""
    return not one.touched, -one.change if total >= 0 else one.change, one.name


def _absent(base: Count, candidate: Count) -> Iterator[str]:
    """Warnings on features that only one side could count, or neither."""
    for side, here, there in (("base", base, candidate), ("candidate", candidate, base)):
        for one in here.left_out:
            both = any((each.feature, each.requests, each.kind) == (one.feature, one.requests, one.kind) for each in there.left_out)
            if both and here is candidate:
                continue
            sizes = of_requests(one.requests or 0)
            where = "on both sides" if both else f"on the {side}"
            yield f"{one.feature}{sizes}: {'skipped' if one.kind == 'unknown' else 'failed'} {where}: {one.why}"


def _odd_notes(cell: Cell, phase: str, sides: Sequence[PhaseWork], names: Collection[str]) -> Iterator[str]:
    """What is left out of this phase; threads that were not counted."""
    here = sorted(name for name in names if any(name in numbers_of(side, metric) for side in sides for metric in METRICS))
    if here:
        yield f"{cell.feature}{of_requests(cell.requests)}, {phase}: left out, not the same each time: {few(here, 6)}"
    for missed in sorted({name for side in sides for name in side.missed}):
        yield f"threads that were not counted: {missed}"
