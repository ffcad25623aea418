"""What the columns of a verdict table are called, by what their rows hold: items are no blocks, and points are no per cent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfproof.model.scenarios.metrics import ACCURACY
from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting

COUNTED = "counted"
"""The head over numbers of several kinds, each of which then names its own."""
_TASKS = f"{formatting.label(ACCURACY)} in"


def metric(rows: Iterable[Judged]) -> str:
    """The head over the metrics; over tasks of accuracy alone what is the same in all: "accuracy in"."""
    return _TASKS if all(formatting.label(row.metric).startswith(f"{_TASKS} ") for row in rows) else "metric"


def named(row: Judged, head: str) -> str:
    """A row's metric under that head."""
    return formatting.label(row.metric).removeprefix(f"{_TASKS} " if head == _TASKS else "")


def interval(rows: Iterable[Judged]) -> str:
    """The head over the intervals: with their unit where all that there are have the same."""
    found = {"points" if row.in_points else "%" for row in rows if formatting.interval(row).startswith("[")}
    return f"interval, {found.pop()}" if len(found) == 1 else "interval"


def counted(rows: Iterable[Judged]) -> str:
    """The head over what the verdicts rest on: "blocks", "items", "prompts"."""
    found = {formatting.noun(row) for row in rows}
    return found.pop() if len(found) == 1 else COUNTED


def counts(rows: Sequence[Judged]) -> list[str]:
    """What each verdict rests on, under that head: "200", or "200 items" where the head can't say it."""
    mixed = counted(rows) == COUNTED
    return [formatting.counted(row) if mixed else f"{row.blocks:,}" for row in rows]
