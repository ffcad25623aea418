"""The history of microbenchmarks' counts as markdown: a table a part of a step, a row a case, a column a build; and the largest steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfproof.report.base.units import NONE
from perfproof.report.history.count_markdown import percent, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRow:
    """A case of a scenario of a part (`room`), how large its counted round is, and its Python instructions in each build; None where a
    build has no such round."""

    room: str
    scenario: str
    case: str
    size: str
    numbers: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStep:
    """A change from one build to the next, with every function whose number changed, the largest first, and what is known of it."""

    before: str
    after: str
    scenario: str
    case: str
    base: int
    candidate: int
    functions: tuple[tuple[str, int], ...]
    upstream: tuple[str, ...]

    @property
    def change(self) -> float:
        return self.candidate / self.base - 1 if self.base else 0.0


def render(builds: Sequence[str], rows: Sequence[RoundRow], steps: Sequence[RoundStep], *, top: int, most: int) -> str:
    """All of it; `top` functions a step, the `most` largest steps."""
    parts = [["Python instructions of a counted round, by part of a step and by release; in brackets the change from the release before:"]]
    for room in dict.fromkeys(row.room for row in rows):
        mine = [row for row in rows if row.room == room]
        parts.append([f"### {(room or 'other').replace('_', ' ').capitalize()}", "", *_table(builds, mine)])
    parts.append([f"### The {min(most, len(steps))} largest of {len(steps)} steps", "", *_largest(steps, top, most)])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _table(builds: Sequence[str], rows: Sequence[RoundRow]) -> Iterator[str]:
    yield f"| scenario | {' | '.join(map(plain, builds))} |"
    yield "| --- |" + " ---: |" * len(builds)
    for row in rows:
        name = f"`{plain(row.scenario)}`" + (f", {plain(row.case)}" if row.case else "")
        yield f"| {name} | {' | '.join(_cells(row.numbers))} |"


def _cells(numbers: Sequence[int | None]) -> Iterator[str]:
    """The numbers; one that is another than the last before it is followed by its change."""
    was = None
    for number in numbers:
        if number is None:
            yield NONE
            continue
        yield f"{number:,}" if not was or was == number else f"{number:,} ({percent(number / was - 1)})"
        was = number


def _largest(steps: Sequence[RoundStep], top: int, most: int) -> Iterator[str]:
    """The largest steps by their share, those of one pair of builds with the same first function told once, where it is largest."""
    yield "| builds | scenario | Python instructions | functions | in vLLM |"
    yield "| --- | --- | ---: | --- | --- |"
    told: set[tuple[str, str, str]] = set()
    for step in sorted(steps, key=lambda one: -abs(one.change)):
        first = step.functions[0][0] if step.functions else ""
        if (step.before, step.after, first) in told or len(told) >= most:
            continue
        told.add((step.before, step.after, first))
        where = f"`{plain(step.scenario)}`" + (f", {plain(step.case)}" if step.case else "")
        behind = ", ".join(f"`{plain(name.partition(':')[2] or name)}` {change:+,}" for name, change in step.functions[:top])
        numbers = f"{step.base:,} to {step.candidate:,} ({percent(step.change)})"
        known = "; ".join(map(plain, step.upstream)) or NONE
        yield f"| {plain(step.before)} to {plain(step.after.rpartition(' ')[2])} | {where} | {numbers} | {behind} | {known} |"
