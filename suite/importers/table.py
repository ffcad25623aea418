"""Anybody's numbers: a CSV with the columns `block,arm,value`, and which of its arms is the baseline.

Or counts of errors: `block,arm,errors,requests`, for what is a rate and may be zero.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.model.errors import BadInput

COLUMNS = ("block", "arm", "value")
RATES = ("block", "arm", "errors", "requests")
BASELINES = ("baseline", "base", "before", "main", "control", "unpatched", "as_released", "old")
"""Names of an arm that make it the baseline, whichever stands first."""
LARGEST_FILE = 200_000_000
NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf(?:inity)?)", re.IGNORECASE)
"""A number as tables write it: Python would take `1_0`, and other scripts' digits, too."""
MOST_DIGITS = 15
"""Of a count: more than a float holds exactly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One trial: `line` is where it stands in the file. `value` counts errors where `requests` is not None."""

    block: str
    arm: str
    value: float
    requests: int | None
    line: int


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


def read(path: Path) -> list[Row]:
    """The rows of a table; raises `BadInput` with every faulty line (the first twenty are named).

    Other columns are passed over. Values must be finite and positive: the verdict is about ratios. A table without values may
    count errors and requests instead.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadInput(f"{path}: larger than {LARGEST_FILE // 1_000_000} MB")
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            named = reader.fieldnames or ()
            columns = RATES if "value" not in named and {"errors", "requests"} & set(named) else COLUMNS
            missing = [column for column in columns if column not in named]
            if missing and len(named) == 1 and (mark := next((mark for mark in ";\t" if mark in named[0]), "")):
                raise BadInput(
                    f"{path}:1: cells are separated by {'a tab' if mark == chr(9) else mark}; commas are needed, as in block,arm,value"
                )
            if missing:
                raise BadInput(
                    f"{path}: column {', '.join(missing)} is missing; a table needs {', '.join(columns)}, "
                    f"it has {', '.join(named) or 'none'}"
                )
            rows, faults = _rows(path, reader, columns)
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: not a CSV in UTF-8: {error}") from error
    faults += _faults(path, rows) if not faults else []
    if faults:
        raise BadInput(*faults[:20], *([f"{path}: and {len(faults) - 20} more faults"] if len(faults) > 20 else []))
    return rows


def _rows(path: Path, reader: csv.DictReader[str], columns: tuple[str, ...]) -> tuple[list[Row], list[str]]:
    rows: list[Row] = []
    faults: list[str] = []
    for record in reader:
        line = reader.line_num
        block, arm, text, *more = ((record.get(column) or "").strip() for column in columns)
        fault = _count_fault(block, arm, text, more[0]) if more else _fault(block, arm, text)
        if fault:
            faults.append(f"{path}:{line}: {fault}")
        else:
            rows.append(Row(block=block, arm=arm, value=float(text), requests=int(more[0]) if more else None, line=line))
    return rows, faults


def _fault(block: str, arm: str, text: str) -> str:
    if not block or not arm:
        return f"{'block' if not block else 'arm'}: is empty"
    if not NUMBER.fullmatch(text):
        return f"value: expected a number, got {text[:40]!r}"
    value = float(text)
    if not math.isfinite(value):
        return f"value: {text} is not a finite number"
    if value <= 0:
        return f"value: {text} is not positive, and ratios need positive values"
    return ""


def _count_fault(block: str, arm: str, errors: str, requests: str) -> str:
    if not block or not arm:
        return f"{'block' if not block else 'arm'}: is empty"
    for name, text in (("errors", errors), ("requests", requests)):
        if not (text.isascii() and text.isdigit()):
            return f"{name}: expected a count, got {text[:40]!r}"
        if len(text) > MOST_DIGITS:
            return f"{name}: a count of {len(text)} digits is none that a trial can have"
    if int(requests) < 1 or int(errors) > int(requests):
        return f"{errors} errors of {requests} requests: each trial needs at least one request, and no more errors than requests"
    return ""


def _faults(path: Path, rows: list[Row]) -> list[str]:
    """What is wrong with the table as a whole: too few arms, an arm twice or never in a block."""
    arms = list(dict.fromkeys(row.arm for row in rows))
    if len(arms) < 2:
        return [f"{path}: two arms are needed, found {len(arms)}{': ' + arms[0] if arms else ''}"]
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        of_block = counts.setdefault(row.block, dict.fromkeys(arms, 0))
        of_block[row.arm] += 1
    return [
        f"{path}: block {block}: arm {arm} has {'no value' if not count else f'{count} values, one is needed'}"
        for block, of_arm in counts.items()
        for arm, count in of_arm.items()
        if count != 1
    ]
