"""The lines that a counting process leaves, one JSON object each, become a Count. A line that was cut off at the end is not there.

Every other fault names file, line and field: what is not what it should be is never counted as nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import shown
from perfproof.model.records.counts import Cell, Count, FunctionWork, Imported, LeftOut, OperatorWork, PhaseWork, together

REMEDY = "delete the file, and it is counted again"
NUMBERS = 5
"""Numbers of a function in a line."""


def read_count(path: Path) -> Count:
    """What a file holds so far; an empty count where it is not there. Raises `BadInput` with all faults."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: can't be read ({error}); {REMEDY}") from error
    return count_of(text, str(path))


def count_of(text: str, where: str) -> Count:
    """The count of a file's text. Raises `BadInput` with all faults."""
    read = _Reader(where)
    vllm = python = refused = ""
    importing = 0.0
    cells: dict[tuple[str, int], Cell] = {}
    left: dict[tuple[str, int | None], LeftOut] = {}
    imported: Imported = {}
    for number, line in _lines(text, read):
        read.line = number
        if line.get("started") is True:
            vllm, python, refused = read.text(line, "vllm"), read.text(line, "python"), ""
            importing = read.seconds(line.get("importing", 0.0), "importing")
        elif line.get("importing") is True:
            refused = read.text(line, "fault")
        elif "imported" in line:
            imported = together(imported, read.imported(line))
        elif "phases" in line:
            cell = read.cell(line)
            cells[cell.key] = cell
        elif "feature" in line:
            gone = read.left_out(line)
            left[gone.feature, gone.requests] = gone
    if read.faults:
        raise BadInput(*read.faults)
    lost = tuple(one for one in left.values() if (one.feature, one.requests) not in cells)
    return Count(
        vllm=vllm,
        python=python,
        cells=tuple(cells.values()),
        left_out=lost,
        refused=refused,
        importing=importing,
        imported=imported,
    )


def _lines(text: str, read: _Reader) -> Iterator[tuple[int, Mapping[str, Any]]]:
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        read.line = number
        try:
            found = json.loads(line)
        except ValueError as error:
            if number < len(lines):  # the last line has no end: its writer was ended in it
                read.fault("", f"is no JSON ({error})")
            continue
        if isinstance(found, dict):
            yield number, found
        else:
            read.fault("", f"expected an object, got {shown(found)}")


def round_of(data: Any, where: str) -> PhaseWork:
    """A counted round as a trial's record holds it in its field `where`. Raises `BadInput` with all faults."""
    read = _Reader(where)
    found = read.phase(read.mapping({where: data}, where), f"{where}.")
    if read.faults:
        raise BadInput(*read.faults)
    return found


class _Reader:
    """Takes fields out of objects; what is not what it should be is noted, and something harmless taken in its place. `line` is that of
    a file, 0 where the objects are of no file of counts."""

    def __init__(self, where: str) -> None:
        self.where, self.line = where, 0
        self.faults: list[str] = []

    def fault(self, field: str, what: str) -> None:
        place = f"{self.where}: line {self.line}: " if self.line else ""
        self.faults.append(f"{place}{field + ': ' if field else ''}{what}{f'; {REMEDY}' if self.line else ''}")

    def text(self, data: Mapping[str, Any], field: str) -> str:
        value = data.get(field)
        if not isinstance(value, str):
            self.fault(field, f"expected a text, got {shown(value)}")
            return ""
        return value

    def number(self, value: Any, field: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            self.fault(field, f"expected a number that is not negative, got {shown(value)}")
            return 0
        return value

    def mapping(self, data: Mapping[str, Any], field: str, where: str = "") -> Mapping[str, Any]:
        value = data.get(field)
        if not isinstance(value, dict):
            self.fault(f"{where}{field}", f"expected an object, got {shown(value)}")
            return {}
        return value

    def items(self, value: Any, field: str) -> Sequence[Any]:
        if not isinstance(value, list):
            self.fault(field, f"expected a list, got {shown(value)}")
            return []
        return value

    def texts(self, data: Mapping[str, Any], field: str, where: str = "") -> tuple[str, ...]:
        items = self.items(data.get(field), f"{where}{field}")
        if not all(isinstance(item, str) for item in items):
            self.fault(f"{where}{field}", "expected texts")
        return tuple(str(item) for item in items)

    def left_out(self, line: Mapping[str, Any]) -> LeftOut:
        feature, skipped = self.text(line, "feature"), "skipped" in line
        requests = self.number(line["requests"], "requests") if "requests" in line else None
        why = self.text(line, "skipped" if skipped else "fault")
        return LeftOut(feature=feature, requests=requests, kind="unknown" if skipped else "fault", why=why)

    def imported(self, line: Mapping[str, Any]) -> Imported:
        return {
            name: None if lines is None else [self.number(one, f"imported.{name}") for one in self.items(lines, f"imported.{name}")]
            for name, lines in self.mapping(line, "imported").items()
        }

    def cell(self, line: Mapping[str, Any]) -> Cell:
        phases = {
            name: self.phase(self.mapping(line["phases"], name, "phases."), f"phases.{name}.") for name in self.mapping(line, "phases")
        }
        return Cell(
            feature=self.text(line, "feature"),
            requests=self.number(line.get("requests"), "requests"),
            phases=phases,
            outputs=tuple(
                tuple(tuple(self.number(token, "outputs") for token in self.items(one, "outputs")) for one in self.items(each, "outputs"))
                for each in self.items(line.get("outputs"), "outputs")
            ),
            seconds=self.times(line, "seconds"),
            runner=self.text(line, "runner") if "runner" in line else "",
            took=self.seconds(line.get("took", 0.0), "took"),
            outside={name: self.times(line["outside"], name, "outside.") for name in self.mapping(line, "outside")}
            if "outside" in line
            else {},
        )

    def times(self, data: Mapping[str, Any], field: str, where: str = "") -> Mapping[str, float]:
        found = self.mapping(data, field, where)
        return {name: self.seconds(value, f"{where}{field}.{name}") for name, value in found.items()}

    def seconds(self, value: Any, field: str) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
            self.fault(field, f"expected seconds, got {shown(value)}")
            return 0.0
        return float(value)

    def phase(self, data: Mapping[str, Any], at: str) -> PhaseWork:
        numbers = {key: self.tuple_of(data, "functions", key, at, NUMBERS) for key in self.mapping(data, "functions", at)}
        operators = {key: self.tuple_of(data, "operators", key, at, 2) for key in self.mapping(data, "operators", at)}
        device = {key: self.tuple_of(data, "device", key, at, 2) for key in self.mapping(data, "device", at)} if "device" in data else {}
        return PhaseWork(
            functions={
                key: FunctionWork(instructions=own, calls=calls, inclusive=inclusive, c_calls=c_calls, line=line)
                for key, (own, calls, inclusive, c_calls, line) in numbers.items()
            },
            c_calls=self.counts(data, "c_calls", at),
            operators={key: OperatorWork(calls=calls, bytes=size) for key, (calls, size) in operators.items()},
            device={key: OperatorWork(calls=calls, bytes=size) for key, (calls, size) in device.items()},
            lines={key: self.by_line(value, f"{at}lines.{key}") for key, value in self.mapping(data, "lines", at).items()},
            waiting=self.counts(data, "waiting", at),
            missed=self.texts(data, "missed", at),
            odd=self.texts(data, "odd", at),
            steps=self.number(data.get("steps"), f"{at}steps"),
            waves=self.number(data.get("waves"), f"{at}waves"),
        )

    def tuple_of(self, data: Mapping[str, Any], field: str, key: str, at: str, length: int) -> Sequence[int]:
        where = f"{at}{field}.{key}"
        items = self.items(data[field][key], where)
        if len(items) != length:
            self.fault(where, f"expected {length} numbers, got {shown(items)}")
            return [0] * length
        return [self.number(item, where) for item in items]

    def counts(self, data: Mapping[str, Any], field: str, at: str) -> Mapping[str, int]:
        return {key: self.number(value, f"{at}{field}.{key}") for key, value in self.mapping(data, field, at).items()}

    def by_line(self, value: Any, where: str) -> Mapping[int, int]:
        if not isinstance(value, dict) or not all(key.isascii() and key.isdigit() for key in value):
            self.fault(where, f"expected line numbers and counts, got {shown(value)}")
            return {}
        return {int(line): self.number(count, where) for line, count in value.items()}
