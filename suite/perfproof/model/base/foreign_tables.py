"""Reads text tables from other tools: the separator of cells, the columns, and the meaning of a comma in numbers.

It refuses to guess: a line with too many or too few cells, a duplicate column, a comma that may separate thousands or decimals, and values
without a common unit are faults, each with its line.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.model.base import numerals
from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.base.number_range import LEAST, MOST, is_number
from perfproof.model.base.quantities import converted, known
from perfproof.model.base.untrusted import line as shown

LARGEST_FILE = 200_000_000
NAMED = 20
"""The most faults, and the most columns of a header, that are named."""
SEPARATORS = (",", ";", "\t")
PLURALS = {"units": "unit", "metrics": "metric", "values": "value", "blocks": "block", "arms": "arm", "points": "point"}
TOO_MANY = "more cells than the first line has columns: quote cells that hold a comma"
TOO_FEW = "fewer cells than the first line has columns: leave cells empty, not out"
ENCODING = "not a CSV in UTF-8: save it as one (a spreadsheet calls it CSV UTF-8)"
MIXED = "some numbers of this column have decimal points and others decimal commas: write all in one way"
_SEPARATOR = re.compile(r"\A\s*\"?sep=.\"?(?=\r?\n)", re.IGNORECASE)
"""The line in which a spreadsheet names its separator."""
_CELL = re.compile(r"(?P<number>.*?[0-9.])\s*(?P<unit>[A-Za-zµμ%][\w/µμ%]*)")
_UNIT = re.compile(r"\s*[(\[](?P<unit>[^()\[\]]+)[)\]]$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table: its columns by normalised names, and its lines with their numbers in the file.

    `units` holds those of headers such as "value (ms)".
    """

    columns: tuple[str, ...]
    units: dict[str, str]
    lines: tuple[tuple[int, dict[str, str]], ...]
    faults: tuple[str, ...]


Lines = Sequence[tuple[int, dict[str, str]]]


def read(path: Path, choose: Callable[[Sequence[str]], Sequence[str]], needs: str) -> Sheet:
    """The table in a file; `choose` gives the required columns for those that exist, `needs` describes the requirements in words.

    Faults of single lines are in the sheet, each with file and line. Raises `BadInput` if the file is not a table, lacks a column, or has
    one twice.
    """
    text = _text(path)
    try:
        for mark in SEPARATORS:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True, skipinitialspace=True)
            head = next((row for row in rows if any(cell.strip() for cell in row)), [])
            columns, units = _columns(head)
            if set(choose(columns)) <= set(columns):
                break
        else:
            raise _lacking(path, text, choose, needs)
        if twice := [column for column in dict.fromkeys(columns) if column and columns.count(column) > 1]:
            raise BadInput(f"{path}:1: column {', '.join(twice)} is there twice: keep one")
        return _sheet(path, ((rows.line_num, row) for row in rows), columns, units)
    except csv.Error as error:
        raise BadInput(f"{path}: not a CSV: {error}") from error


def _text(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            raw = file.read(LARGEST_FILE + 1)  # a pipe, for example, has no size
        if len(raw) > LARGEST_FILE:
            raise BadInput(f"{path}: larger than {LARGEST_FILE // 1_000_000} MB")
        text = raw.decode("utf-16" if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: {ENCODING}; {error.reason} at byte {error.start}") from error
    text = _SEPARATOR.sub("", text)
    if text.lstrip()[:1] in ("{", "["):
        raise BadInput(f"{path}: is JSON, not a CSV: write its numbers as a table")
    return text


def _columns(head: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Names in lower case, without surrounding blanks and units; the units by name."""
    columns, units = [], {}
    for cell in head:
        unit = _UNIT.search(cell)
        name = " ".join(_UNIT.sub("", cell).split()).casefold()
        name = PLURALS.get(name, name)
        columns.append(name)
        if unit:
            units[name] = unit["unit"].strip()
    return columns, units


def _lacking(path: Path, text: str, choose: Callable[[Sequence[str]], Sequence[str]], needs: str) -> BadInput:
    head = next(csv.reader(io.StringIO(text, newline="")), [])
    columns = _columns(head)[0]
    missing = [column for column in choose(columns) if column not in columns]
    has = few([shown(name, 40) for name in head], NAMED)
    return BadInput(f"{path}:1: column {', '.join(missing)} is missing; {needs}; it has {shown(has) or 'none'}")


def _sheet(path: Path, rows: Iterable[tuple[int, list[str]]], columns: Sequence[str], units: dict[str, str]) -> Sheet:
    lines, faults = [], []
    for number, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(columns):
            faults.append(f"{path}:{number}: {TOO_MANY if len(row) > len(columns) else TOO_FEW}")
        else:
            lines.append((number, dict(zip(columns, (cell.strip() for cell in row), strict=True))))
    return Sheet(columns=tuple(columns), units=units, lines=tuple(lines), faults=tuple(faults))


def refuse(faults: Sequence[str], path: Path) -> None:
    """Raises `BadInput` with the first of the faults and how many more there are, if there are any."""
    if faults:
        raise BadInput(*faults[:NAMED], *([f"{path}: and {len(faults) - NAMED} more faults"] if len(faults) > NAMED else []))


def one_spelling(lines: Lines, names: Iterable[str]) -> tuple[Lines, list[str]]:
    """The lines with one spelling for cells of these columns that differ only in capitals and blanks; and sentences about these cells."""
    notes: list[str] = []
    for name in names:
        spelt: dict[str, dict[str, None]] = defaultdict(dict)
        for _, line in lines:
            if name in line:
                spelt[" ".join(line[name].split()).casefold()][line[name]] = None
        first = {each: next(iter(all_)) for all_ in spelt.values() for each in all_}
        lines = [(number, {**line, name: first[line[name]]} if name in line else line) for number, line in lines]
        notes += [
            f"{name} {next(iter(all_))} is also spelt {', '.join(list(all_)[1:])}: taken for one"
            for all_ in spelt.values()
            if len(all_) > 1
        ]
    return lines, notes


def passed_over(columns: Sequence[str], used: Iterable[str]) -> list[str]:
    """A sentence about unused columns; nothing if there are none."""
    others = [column for column in dict.fromkeys(columns) if column and column not in set(used)]
    named = ", ".join(others[:NAMED]) + (" and more" if len(others) > NAMED else "")
    return [f"columns that were not used: {named}"] if others else []


# --- numbers ---------------------------------------------------------------------------------------------------


def numbers(texts: Sequence[str]) -> list[float | str]:
    """The numbers of one column, or the fault of each, in words. One convention holds for all: commas for thousands or for decimals."""
    by = numerals.convention(texts)
    return [_number(text, by) for text in texts]


def _number(text: str, by: numerals.Convention) -> float | str:
    if not numerals.is_number(text):
        return f"expected a number, got {text[:40]!r}"
    if by == "mixed" and {".", ","} & set(text):
        return f"{text[:40]!r}: {MIXED}"
    if by == "" and "," in text:
        either = f"write {text.replace(',', '')[:40]} or {text.replace(',', '.')[:40]}"
        return f"{text[:40]!r}: the comma may separate thousands or decimals: {either}"
    value = numerals.value(text, by)
    if math.isfinite(value) and not is_number(value):
        return f"{text[:40]!r}: a number below {LEAST:g} or above {MOST:g} is out of range: write it in another unit"
    return value


def units_of(lines: Lines, name: str, header: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The unit that stands beside each line's `name`, in the column of units or else in the header; and for each line what is wrong with
    that, "" for nothing: a header and a cell that contradict each other."""
    head = header.get(name, "")
    beside = [line.get("unit", "") for _, line in lines]
    odd = [
        f"the column says {head[:40]}, and this line's unit is {unit[:40]}: keep one" if unit and head and unit != head else ""
        for unit in beside
    ]
    return [unit or head for unit in beside], odd


def measured(texts: Sequence[str], units: Sequence[str], into: str = "") -> tuple[list[float | str], str]:
    """The values of one column in one unit, or the fault of each, in words; and that unit, "" if no value has one.

    A cell may have its unit after its number; `units` are those beside the cells, "" for none. The result's unit is `into`, which is then
    also the unit of bare numbers; else it is the first unit, and then every number needs one.
    """
    split = [_split(text) for text in texts]
    own = [unit or beside for (_, unit), beside in zip(split, units, strict=True)]
    wanted = into or next(filter(None, own), "")
    values = numbers([number for number, _ in split])
    return [
        value if isinstance(value, str) else _in_unit(value, unit, beside, into or each, wanted)
        for value, (_, unit), beside, each in zip(values, split, units, own, strict=True)
    ], wanted


def _split(text: str) -> tuple[str, str]:
    """A cell's number and its unit, "" if the text after the number is certainly no unit."""
    cell = _CELL.fullmatch(text)
    return (cell["number"], cell["unit"]) if cell and known(cell["unit"]) else (text, "")


def _in_unit(value: float, unit: str, beside: str, own: str, wanted: str) -> float | str:
    if unit and beside and unit != beside:
        return f"{value:g} {unit} has another unit beside it, {beside[:40]}: keep one"
    own = unit or beside or own
    if wanted and not own:
        return f"{value:g} has no unit, but others of its column have {wanted[:40]}: give all the same unit"
    inside = converted(value, own, wanted)
    return f"{value:g} {own[:40]} can't be converted to {wanted[:40]}: give all the same unit" if inside is None else inside
