"""Anybody's numbers: a CSV with the columns `block,arm,value`, the first arm named being the baseline."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from suite.model.errors import BadInput

COLUMNS = ("block", "arm", "value")
LARGEST_FILE = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One trial: `line` is where it stands in the file."""

    block: str
    arm: str
    value: float
    line: int


def read(path: Path) -> list[Row]:
    """The rows of a table; raises `BadInput` with every faulty line (the first twenty are named).

    Other columns are passed over. Values must be finite and positive: the verdict is about ratios.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadInput(f"{path}: larger than {LARGEST_FILE // 1_000_000} MB")
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
            if missing:
                raise BadInput(
                    f"{path}: column {', '.join(missing)} is missing; a table needs {', '.join(COLUMNS)}, "
                    f"it has {', '.join(reader.fieldnames or ()) or 'none'}"
                )
            rows, faults = _rows(path, reader)
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: not a CSV in UTF-8: {error}") from error
    faults += _faults(path, rows) if not faults else []
    if faults:
        raise BadInput(*faults[:20], *([f"{path}: and {len(faults) - 20} more faults"] if len(faults) > 20 else []))
    return rows


def _rows(path: Path, reader: csv.DictReader[str]) -> tuple[list[Row], list[str]]:
    rows: list[Row] = []
    faults: list[str] = []
    for record in reader:
        line = reader.line_num
        block, arm, text = ((record.get(column) or "").strip() for column in COLUMNS)
        fault = _fault(block, arm, text)
        if fault:
            faults.append(f"{path}:{line}: {fault}")
        else:
            rows.append(Row(block=block, arm=arm, value=float(text), line=line))
    return rows, faults


def _fault(block: str, arm: str, text: str) -> str:
    if not block or not arm:
        return f"{'block' if not block else 'arm'}: is empty"
    try:
        value = float(text)
    except ValueError:
        return f"value: expected a number, got {text!r}"
    if not math.isfinite(value):
        return f"value: {text} is not a finite number"
    if value <= 0:
        return f"value: {text} is not positive, and ratios need positive values"
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
