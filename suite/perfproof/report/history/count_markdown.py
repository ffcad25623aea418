"""The history of counts as markdown: a row a build and a column a feature, the functions behind the steps, and the largest steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from perfproof.model.base.unit_prefix import places
from perfproof.report.base import units
from perfproof.report.base.units import NONE

PHASE, REQUESTS = "decode", 32
"""What the first table has of each feature; one that has no such step is there with its last phase."""
SMALL = 0.0005
"""A change that is shown with more digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A feature, a phase of it, and its requests."""

    feature: str
    phase: str
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A build with its Python instructions by cell, and the features that it could not count."""

    build: str
    numbers: Mapping[Cell, int]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A change from one build to the next, with every function whose number changed, the worst first."""

    before: str
    after: str
    cell: Cell
    base: int
    candidate: int
    functions: tuple[tuple[str, int], ...]

    @property
    def change(self) -> float:
        return self.candidate / self.base - 1 if self.base else 0.0


def render(builds: Sequence[Counted], steps: Sequence[Step], *, top: int, most: int) -> str:
    """All of it; `top` functions a step, the `most` largest steps."""
    parts = [
        ["Python instructions of a decode step of 32 requests, by release and feature:", "", *_table(builds, _columns(builds))],
        ["Plain, 32 requests, by release and phase:", "", *_table(builds, _phases(builds))],
        [f"The functions behind the steps of these decode steps, the {top} largest of each release:", "", *_functions(steps, top)],
        [f"The {min(most, len(steps))} largest steps, each told once where it is largest:", "", *_largest(steps, top, most)],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _columns(builds: Sequence[Counted]) -> dict[str, Cell]:
    """A cell a feature: its decode step of 32 requests where it has one, else its last phase."""
    found: dict[str, Cell] = {}
    for cell in dict.fromkeys(cell for one in builds for cell in one.numbers):
        usual = (cell.phase, cell.requests) == (PHASE, REQUESTS)
        if usual or (cell.feature not in found and cell.requests == REQUESTS):
            found[cell.feature] = cell
    return {name if cell.phase == PHASE else f"{name} ({cell.phase})": cell for name, cell in found.items()}


def _phases(builds: Sequence[Counted]) -> dict[str, Cell]:
    cells = dict.fromkeys(cell for one in builds for cell in one.numbers)
    return {cell.phase: cell for cell in cells if (cell.feature, cell.requests) == ("plain", REQUESTS)}


def _table(builds: Sequence[Counted], columns: Mapping[str, Cell]) -> Iterator[str]:
    """A row a build; a number that is another than the build's before is followed by its change."""
    yield "| build | " + " | ".join(columns) + " |"
    yield "| --- |" + " ---: |" * len(columns)
    for before, one in pairwise([None, *builds]):
        assert one is not None  # noqa: S101 (only the first is none)
        cells = (_number(before, one, cell) for cell in columns.values())
        yield f"| {plain(one.build)} | " + " | ".join(cells) + " |"


def _number(before: Counted | None, one: Counted, cell: Cell) -> str:
    value = one.numbers.get(cell)
    was = before.numbers.get(cell) if before else None
    if value is None:
        return NONE
    return f"{value:,}" if not was or was == value else f"{value:,} ({percent(value / was - 1)})"


def _functions(steps: Sequence[Step], top: int) -> Iterator[str]:
    """A row for each function that is among the largest behind a decode step, with its change in every feature, by pair of builds."""
    usual = [step for step in steps if (step.cell.phase, step.cell.requests) == (PHASE, REQUESTS)]
    for before, after in dict.fromkeys((step.before, step.after) for step in usual):
        mine = [step for step in usual if (step.before, step.after) == (before, after)]
        largest: dict[str, int] = {}
        for step in mine:
            for name, change in step.functions:
                largest[name] = max(largest.get(name, 0), abs(change))
        names = sorted(largest, key=lambda name: -largest[name])[:top]
        yield f"| {plain(before)} to {plain(after.rpartition(' ')[2])} | " + " | ".join(step.cell.feature for step in mine) + " |"
        yield "| --- |" + " ---: |" * len(mine)
        for name in names:
            changes = (dict(step.functions).get(name, 0) for step in mine)
            yield f"| `{plain(name)}` | " + " | ".join(f"{change:+,}" if change else NONE for change in changes) + " |"
        yield ""


def _largest(steps: Sequence[Step], top: int, most: int) -> Iterator[str]:
    """The largest steps by their share, one for each pair of builds and function behind it."""
    yield "| builds | where | Python instructions | functions |"
    yield "| --- | --- | ---: | --- |"
    told: set[tuple[str, str, str]] = set()
    for step in sorted(steps, key=lambda one: -abs(one.change)):
        first = step.functions[0][0] if step.functions else ""
        if (step.before, step.after, first) in told or len(told) >= most:
            continue
        told.add((step.before, step.after, first))
        where = f"{step.cell.phase}, {step.cell.feature}, {step.cell.requests} requests"
        behind = ", ".join(f"`{plain(name.partition(':')[2] or name)}` {change:+,}" for name, change in step.functions[:top])
        numbers = f"{step.base:,} to {step.candidate:,} ({percent(step.change)})"
        yield f"| {plain(step.before)} to {plain(step.after.rpartition(' ')[2])} | {where} | {numbers} | {behind} |"


def percent(change: float) -> str:
    """A change in per cent, a small one with more digits."""
    return (
        f"{units.with_minus(f'{100 * change:+.{places(change, 1)}f}')} %"
        if abs(change) >= SMALL
        else f"{units.with_minus(f'{100 * change:+.3f}')} %"
    )


def plain(text: str) -> str:
    """A text that can stand in a cell of a table, also as code."""
    return text.replace("|", "\\|").replace("`", "'")
