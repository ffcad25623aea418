"""A series of anybody's: a CSV with the columns `point,value`, in the order of the points.

Measurements of one build share its `group`; without that column each line is a build. Where there are `machine` and `environment`
columns, what differs in them is never mixed. Other columns are passed over.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path

from suite.model.errors import BadInput

COLUMNS = ("point", "value")
OPTIONAL = ("group", "machine", "environment")
LARGEST_FILE = 200_000_000
NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf(?:inity)?)", re.IGNORECASE)
"""A number as tables write it: Python would take `1_0`, and other scripts' digits, too."""
NAMED = 20
"""How many faults are named."""
TOO_MANY = "more cells than the first line has columns: quote cells that hold a comma"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line: `group`, `machine` and `environment` are "" where the table has no such column."""

    point: str
    value: float
    group: str
    machine: str
    environment: str
    line: int


def read(path: Path) -> list[Measured]:
    """The lines of a table; raises `BadInput` with every faulty line (the first twenty are named)."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadInput(f"{path}: larger than {LARGEST_FILE // 1_000_000} MB")
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, restkey="")
            _check_header(path, reader.fieldnames or ())
            rows, faults = _rows(path, reader)
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: not a CSV in UTF-8: {error}") from error
    if not rows and not faults:
        faults = [f"{path}:2: no points: give one line a measurement, such as 0.32.0,1.25"]
    if faults:
        raise BadInput(*faults[:NAMED], *([f"{path}: and {len(faults) - NAMED} more faults"] if len(faults) > NAMED else []))
    return rows


def _check_header(path: Path, named: object) -> None:
    columns = list(named) if isinstance(named, (list, tuple)) else []
    twice = [column for column in (*COLUMNS, *OPTIONAL) if columns.count(column) > 1]
    missing = [column for column in COLUMNS if column not in columns]
    if twice:
        raise BadInput(f"{path}:1: column {', '.join(twice)} is there twice: keep one")
    if missing:
        has = ", ".join(map(str, columns)) or "none"
        raise BadInput(
            f"{path}:1: column {', '.join(missing)} is missing; a series needs {','.join(COLUMNS)} as its first line, "
            f"with {', '.join(OPTIONAL)} if wanted; it has {has}"
        )


def _rows(path: Path, reader: csv.DictReader[str]) -> tuple[list[Measured], list[str]]:
    rows: list[Measured] = []
    faults: list[str] = []
    groups = "group" in (reader.fieldnames or ())
    for record in reader:
        line = reader.line_num
        point, text, group, machine, environment = ((record.get(column) or "").strip() for column in (*COLUMNS, *OPTIONAL))
        fault = TOO_MANY if "" in record else _fault(point, text, group, groups)
        if fault:
            faults.append(f"{path}:{line}: {fault}")
        else:
            rows.append(Measured(point=point, value=float(text), group=group, machine=machine, environment=environment, line=line))
    return rows, faults


def _fault(point: str, text: str, group: str, groups: bool) -> str:
    if not point:
        return "point: is empty: name the build, commit or date"
    if groups and not group:
        return "group: is empty: name the build that the measurement is of, or leave the column out"
    if not text:
        return "value: is empty: give a number, or leave the line out"
    if not NUMBER.fullmatch(text):
        return f"value: expected a number, got {text[:40]!r}"
    value = float(text)
    return "" if math.isfinite(value) else f"value: {text[:40]} is not a finite number: leave the line out"
