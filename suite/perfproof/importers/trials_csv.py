"""Anybody's numbers: a CSV with the columns `block,arm,value`, and which of its arms is the baseline.

Or counts of errors: `block,arm,errors,requests`, for what is a rate and may be zero. With a column `metric` each metric is a comparison of
its own, with a column `unit` values are compared in one unit. A column of moments says in which order was measured.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfproof.model.base import foreign_tables, timestamps
from perfproof.model.base.errors import BadInput

COLUMNS = ("block", "arm", "value")
RATES = ("block", "arm", "errors", "requests")
ALIKE = (
    *("machine", "host", "hostname", "node", "runner", "instance", "hardware", "device", "gpu", "cpu", "driver", "environment"),
    *("benchmark", "scenario", "case", "workload", "dataset", "task"),
)
"""Columns whose cells must be alike within a block: what differs there is no property of an arm."""
BASELINES = ("baseline", "base", "before", "main", "control", "unpatched", "as_released", "old")
"""Names of an arm that make it the baseline, whichever stands first."""
MOST_DIGITS = 15
"""Of a count: more than a float holds exactly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One trial: `line` is where it stands in the file. `value` counts errors where `requests` is not None; `metric` is "" without such a
    column, `at` the moment of measuring, None without one."""

    block: str
    arm: str
    metric: str
    value: float
    requests: int | None
    at: float | None
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The rows as they stand, the unit of each metric's values ("" where there is none), and what to know of the table, in sentences."""

    rows: tuple[Row, ...]
    units: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics in the order of the file; one that is "" without a column."""
        return tuple(self.units)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The arm that the others are compared with; `told` says which and why, "" where it was named."""

    arm: str
    told: str


def baseline_of(path: Path, rows: Sequence[Row], named: str | None) -> Baseline:
    """The arm that was named; else the only one with an obvious name (`BASELINES`); else the first in the file.

    Raises `BadInput` for a name that no arm has, with the names that there are.
    """
    arms = list(dict.fromkeys(row.arm for row in rows))
    if named is not None:
        if named not in arms:
            raise BadInput(f"{path}: --baseline {named}: there is no such arm; the arms are {', '.join(arms)}")
        return Baseline(arm=named, told="")
    obvious = [arm for arm in arms if re.sub(r"[\s-]+", "_", arm).casefold() in BASELINES]
    if len(obvious) == 1:
        return Baseline(arm=obvious[0], told=f"baseline: {obvious[0]}, by its name; --baseline names another")
    return Baseline(arm=arms[0], told=f"baseline: {arms[0]}, the first in the file; --baseline names another")


def read(path: Path, unit: str = "") -> Table:
    """The rows of a table; raises `BadInput` with every faulty line (the first twenty are named).

    Values are in `unit`, which those without one then have. They must be finite and positive: the verdict is about ratios. A table
    without values may count errors and requests instead.
    """
    sheet = foreign_tables.read(path, _needed, f"a table needs {', '.join(COLUMNS)} (or {', '.join(RATES)})")
    lines, notes = foreign_tables.one_spelling(sheet.lines, ("arm", "metric", "block"))
    column, at = timestamps.column(path, sheet.columns, [line for _, line in lines])
    times: Sequence[float | None] = at if column else [None] * len(lines)
    rows, faults, units = (_counts if "value" not in sheet.columns else _values)(sheet, lines, times, unit)
    told = [f"{path}:{number}: {fault}" for number, fault in sorted(faults)]
    foreign_tables.refuse([*sheet.faults, *told] or _faults(path, rows) or _differing(path, lines), path)
    notes += [*_repeated(rows), *_passed_over(sheet.columns, column, lines)]
    return Table(rows=tuple(rows), units=units, notes=tuple(notes))


def _needed(columns: Sequence[str]) -> Sequence[str]:
    return RATES if "value" not in columns and {"errors", "requests"} & set(columns) else COLUMNS


Found = tuple[list[Row], list[tuple[int, str]], dict[str, str]]


def _row(number: int, line: Mapping[str, str], at: float | None) -> Row:
    """A row without its value."""
    named = {name: line.get(name, "") for name in ("block", "arm", "metric")}
    return Row(value=math.nan, requests=None, at=at, line=number, **named)


def _unnamed(line: Mapping[str, str]) -> str:
    return next((f"{name}: is empty" for name in ("block", "arm", "metric") if not line.get(name, "-")), "")


def _values(sheet: foreign_tables.Sheet, lines: foreign_tables.Lines, times: Sequence[float | None], unit: str) -> Found:
    rows: list[Row] = []
    faults: list[tuple[int, str]] = []
    units: dict[str, str] = {}
    for metric in dict.fromkeys(line.get("metric", "") for _, line in lines):
        own = [(*one, at) for one, at in zip(lines, times, strict=True) if one[1].get("metric", "") == metric]
        beside, odd = foreign_tables.units_of([(number, line) for number, line, _ in own], "value", sheet.units)
        values, units[metric] = foreign_tables.measured([line["value"] for _, line, _ in own], beside, unit)
        for (number, line, at), value, contradiction in zip(own, values, odd, strict=True):
            if fault := _unnamed(line) or contradiction or _fault(value, line["value"]):
                faults.append((number, fault))
            elif not isinstance(value, str):
                rows.append(replace(_row(number, line, at), value=value))
    return sorted(rows, key=lambda row: row.line), faults, units


def _fault(value: float | str, text: str) -> str:
    if isinstance(value, str):
        return f"value: {value}"
    if not math.isfinite(value):
        return f"value: {text[:40]} is not a finite number"
    if value <= 0:
        return f"value: {text[:40]} is not positive, and ratios need positive values"
    return ""


def _counts(sheet: foreign_tables.Sheet, lines: foreign_tables.Lines, times: Sequence[float | None], unit: str) -> Found:
    rows: list[Row] = []
    faults: list[tuple[int, str]] = []
    for (number, line), at in zip(lines, times, strict=True):
        if fault := _unnamed(line) or _count_fault(line["errors"], line["requests"]):
            faults.append((number, fault))
        else:
            rows.append(replace(_row(number, line, at), value=float(line["errors"]), requests=int(line["requests"])))
    return rows, faults, dict.fromkeys((row.metric for row in rows), "")


def _count_fault(errors: str, requests: str) -> str:
    for name, text in (("errors", errors), ("requests", requests)):
        if not (text.isascii() and text.isdigit()):
            return f"{name}: expected a count, got {text[:40]!r}"
        if len(text) > MOST_DIGITS:
            return f"{name}: a count of {len(text)} digits is none that a trial can have"
    if int(requests) < 1 or int(errors) > int(requests):
        return f"{errors} errors of {requests} requests: each trial needs at least one request, and no more errors than requests"
    return ""


# --- the table as a whole ---------------------------------------------------------------------------------------


def _faults(path: Path, rows: Sequence[Row]) -> list[str]:
    """What is wrong with the table as a whole: too few arms, an arm twice or never in a block."""
    arms = list(dict.fromkeys(row.arm for row in rows))
    if len(arms) < 2:
        return [f"{path}: two arms are needed, found {len(arms)}{': ' + arms[0] if arms else ''}"]
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        counts.setdefault((row.metric, row.block), dict.fromkeys(arms, 0))[row.arm] += 1
    return [
        f"{path}: {f'metric {metric}, ' if metric else ''}block {block}: arm {arm} has "
        f"{'no value' if not count else f'{count} values, one is needed'}"
        for (metric, block), of_arm in counts.items()
        for arm, count in of_arm.items()
        if count != 1
    ]


def _differing(path: Path, lines: foreign_tables.Lines) -> list[str]:
    """Blocks whose arms were not measured in one place, or on one task."""
    first: dict[tuple[str, str, str], Mapping[str, str]] = {}
    faults: list[str] = []
    for number, line in lines:
        for name in ALIKE:
            if name in line:
                other = first.setdefault((line["block"], line.get("metric", ""), name), line)
                if other[name] != line[name]:
                    faults.append(
                        f"{path}:{number}: block {line['block']}: {name} is {line[name] or 'empty'} for arm {line['arm']} and "
                        f"{other[name] or 'empty'} for arm {other['arm']}: arms of one block must share it"
                    )
    return faults


def _repeated(rows: Iterable[Row]) -> list[str]:
    """Blocks in which every arm has just the value that it has in an earlier one; rates, which are often zero, are not asked."""
    blocks: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
    for row in rows:
        if row.requests is None:
            blocks[row.metric, row.block].append((row.arm, row.value))
    first: dict[tuple[str, tuple[tuple[str, float], ...]], str] = {}
    found = {block: first.setdefault((metric, tuple(sorted(values))), block) for (metric, block), values in blocks.items()}
    pairs = [(block, earlier) for block, earlier in found.items() if block != earlier]
    named = ", ".join(f"{block} like {earlier}" for block, earlier in pairs[:5]) + (" and so on" if len(pairs) > 5 else "")
    return (
        [f"{len(pairs)} blocks have the very values of others (block {named}): trials that are there twice say nothing new"]
        if pairs
        else []
    )


def _passed_over(columns: Sequence[str], moments_in: str, lines: foreign_tables.Lines) -> list[str]:
    """Columns that nobody asked for, and which of them have other words for one arm than for another of a block."""
    used = {*COLUMNS, *RATES, "metric", "unit", *ALIKE, moments_in}
    told = foreign_tables.passed_over(columns, used)
    for name in dict.fromkeys(columns) if told else ():
        if name and name not in used and (differing := _of_arms(name, lines)):
            told.append(f"{name} is not the same for the arms ({differing}): what differs there is judged with them")
    return told


def _of_arms(name: str, lines: foreign_tables.Lines) -> str:
    """Each arm's one word in a column: "llama-8b for main, llama-1b for pr"; "" where the arms share it, have several
    words each, or are named by it."""
    words: dict[str, set[str]] = defaultdict(set)
    for _, line in lines:
        words[line["arm"]].add(line[name])
    single = {arm: next(iter(each)) for arm, each in words.items() if len(each) == 1}
    if len(single) != len(words) or len(set(single.values())) < 2 or set(single.values()) <= {*single, ""}:
        return ""
    return ", ".join(f"{word[:40] or 'nothing'} for {arm}" for arm, word in single.items())
