"""What a series is looked for steps in: lines that others measured, the oldest first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line: `group`, `machine`, `environment`, `metric` and `unit` are "" where the table has no such column; of several columns that
    say what the machine is, or what was measured, the cells are joined."""

    point: str
    value: float
    group: str
    machine: str
    environment: str
    metric: str
    unit: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTable:
    """The lines, the oldest first; `order` says in words how that was found, `sorted` whether they stand otherwise in the file, `notes`
    what else to know, in sentences."""

    rows: tuple[Measured, ...]
    order: str
    sorted: bool
    notes: tuple[str, ...]
