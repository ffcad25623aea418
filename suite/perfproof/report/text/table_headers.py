"""The headers of a verdict table's columns, which depend on the rows: blocks or items, per cent or points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfproof.model.scenarios.metrics import ACCURACY
from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting

COUNTED = "counted"
"""The header over numbers of several kinds; each cell then names its own."""
_TASKS = f"{formatting.label(ACCURACY)} in"


def metric(rows: Iterable[Judged]) -> str:
    """The header over the metrics; "accuracy in" where all of them are tasks of accuracy."""
    return _TASKS if all(formatting.label(row.metric).startswith(f"{_TASKS} ") for row in rows) else "metric"


def named(row: Judged, head: str) -> str:
    """A row's metric under that header."""
    return formatting.label(row.metric).removeprefix(f"{_TASKS} " if head == _TASKS else "")


def interval(rows: Iterable[Judged]) -> str:
    """The header over the intervals, with their unit where all share one."""
    units_seen = {"points" if row.in_points else "%" for row in rows if formatting.interval(row).startswith("[")}
    return f"interval, {units_seen.pop()}" if len(units_seen) == 1 else "interval"


def counted(rows: Iterable[Judged]) -> str:
    """The header over the sample sizes: "blocks", "items", "prompts"."""
    nouns = {formatting.noun(row) for row in rows}
    return nouns.pop() if len(nouns) == 1 else COUNTED


def counts(rows: Sequence[Judged]) -> list[str]:
    """The sample size of each verdict under that header: "200", or "200 items" where the header names no unit."""
    mixed = counted(rows) == COUNTED
    return [formatting.counted(row) if mixed else f"{row.blocks:,}" for row in rows]
