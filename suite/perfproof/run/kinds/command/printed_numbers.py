"""Reads the numbers that a command printed: behind a pattern, in a JSON document, in a column of a table.

Every number is there exactly once, or its trial has failed: nothing is guessed, and no default stands in.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.model.base.errors import CannotRun
from perfproof.model.base.quantities import converted, scale
from perfproof.model.kinds.command.command_document import UNIT, VALUE
from perfproof.model.kinds.command.command_workload import Printed

MOST_BYTES = 64 * 2**20
"""Of an output, or of a file that a command writes."""
SHOWN = 600
"""Characters of the end of an output that a fault shows."""
BASES = {"time": "s", "bytes": "B"}
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?\.\d+(?:[eE][-+]?\d+)?")
_RULE = re.compile(r"[-=+|:─━╌┼╪╞╡├┤┌┐└┘┬┴ ]*")
MOST_HEADS = 4
"""Lines that a table's head may have."""
_WORD = re.compile(r" ?([A-Za-zµμ]+)\b(?!/)")
"""A word behind a number."""
_CELLS = re.compile(r"\s*[|│┃]\s*|\t|\s{2,}")


class NotThere(CannotRun):
    """A number that was to be printed is not there, or not once."""


def read(name: str, printed: Printed, output: str, folder: Path) -> float:
    """The number called `name`, in base units (seconds, bytes, or as it stands). Raises `NotThere` with the end of the output."""
    found = dict(_found(name, printed, output, folder))
    if not found:
        raise NotThere(f"{name}: {_where(printed)} is not in what the command printed:\n{_end(output)}")
    if len(found) > 1:
        numbers = ", ".join(list(found.values())[:4])
        raise NotThere(f"{name}: {_where(printed)} has {len(found)} different numbers ({numbers}): name one of them more closely")
    return next(iter(found))


def whole(name: str, printed: Printed, output: str, folder: Path) -> int:
    """The whole number called `name`: how much was done. Raises `NotThere`, as `read` does, and for a number that is not whole."""
    value = read(name, printed, output, folder)
    if not value.is_integer():
        raise NotThere(
            f"counts.{name}: {_where(printed)} is {value:g}, and a count is a whole number: read it as a metric (metrics.{name}), or count "
            f"something else; the command printed:\n{_end(output)}"
        )
    return int(value)


def _found(name: str, printed: Printed, output: str, folder: Path) -> Iterator[tuple[float, str]]:
    """Every number that stands in its place, in base units and as it was printed."""
    if printed.json_file:
        value = _of_json(name, printed, output, folder)
        yield in_base(name, value, printed.unit), f"{value:g}"
    elif printed.column:
        for cell in column(output, printed.column, printed.row):
            yield in_base(name, number(name, cell), printed.unit), cell
    else:
        for match in re.finditer(printed.pattern, output, re.MULTILINE):
            groups = match.re.groupindex
            place = groups.get(VALUE) or next(one for one in range(1, match.re.groups + 1) if one != groups.get(UNIT))
            if match[place] is not None:
                said = match[UNIT] if UNIT in groups and match[UNIT] else printed.unit
                if UNIT not in groups:
                    _same_behind(name, output[match.end(place) :], printed.unit)
                shown = f"{match[place].strip()} {said}".removesuffix(" 1")
                yield in_base(name, number(name, match[place]), _like(name, said, printed.unit)), shown


def number(name: str, text: str) -> float:
    """A number as programs print it, thousands separated by commas or not. Raises `NotThere` for anything else, `nan` and `inf` too."""
    cleaned = text.strip()
    match = _NUMBER.match(cleaned)
    rest = cleaned[match.end() :].strip() if match else ""
    if match is None or rest[:1].isdigit() or rest[:1] in (",", "."):
        raise NotThere(f"{name}: expected a number, got {cleaned[:80]!r}")
    value = float(match[0].replace(",", ""))
    if not math.isfinite(value):
        raise NotThere(f"{name}: expected a number, got {cleaned[:80]!r}")
    return value


def in_base(name: str, value: float, unit: str) -> float:
    """A value in seconds, bytes, or per second, where its unit is one of these; else as it is."""
    dimension, factor = scale(unit)
    if dimension in BASES:
        base = converted(value, unit, BASES[dimension])
        return value * factor if base is None else base
    return value * factor if "time" in dimension.split("/") else value


def _like(name: str, said: str, unit: str) -> str:
    """A unit that stands beside the number; one that measures something else than the scenario says is a fault."""
    if unit != "1" and scale(said)[0] != scale(unit)[0]:
        raise NotThere(f"{name}: is printed in {said}, the scenario says {unit}")
    return said


def _same_behind(name: str, behind: str, unit: str) -> None:
    """Raises `NotThere` where the word behind a number is another unit of time or memory than the scenario says: a program that prints ms
    or s as it fits is not misread."""
    word = _WORD.match(behind)
    if word and scale(word[1])[0] in BASES and scale(unit)[0] in BASES and scale(word[1]) != scale(unit):
        raise NotThere(
            f"{name}: {word[1]} stands behind the number, the scenario says {unit}; if it changes, have the pattern catch it: "
            f"([0-9.]+) (?P<{UNIT}>\\S+)"
        )


def _of_json(name: str, printed: Printed, output: str, folder: Path) -> float:
    text = output if printed.json_file == "-" else _written(name, printed.json_file, folder)
    try:
        value: Any = _document(text) if printed.json_file == "-" else json.loads(text)
    except ValueError as error:
        raise NotThere(f"{name}: {printed.json_file if printed.json_file != '-' else 'the output'} is no JSON ({error})") from None
    for key in printed.json_path.split("."):
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, Sequence) and not isinstance(value, str) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise NotThere(f"{name}: the JSON has no {printed.json_path} (nothing at {key!r})")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise NotThere(f"{name}: {printed.json_path} is no number in the JSON")
    return float(value)


def _document(output: str) -> Any:
    """The last JSON object that stands in an output at the beginning of a line."""
    decoder, last = json.JSONDecoder(), None
    for match in re.finditer(r"^\s*[{\[]", output, re.MULTILINE):
        try:
            last = decoder.raw_decode(output, match.end() - 1)[0]
        except ValueError:
            continue
    if last is None:
        raise ValueError("no object stands at the beginning of a line")
    return last


def _written(name: str, named: str, folder: Path) -> str:
    """A file that the command wrote where it ran. Raises `NotThere` for one that is not there, leads out of the folder, or is too large."""
    file = folder / named
    if not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
        raise NotThere(f"{name}: the command wrote no file {named} where it ran")
    if file.stat().st_size > MOST_BYTES:
        raise NotThere(f"{name}: {named} has more than {MOST_BYTES:,} bytes")
    return file.read_text(encoding="utf-8", errors="replace")


def column(output: str, name: str, row: str = "") -> Iterator[str]:
    """The cells of a printed table's column; with `row` those of the rows whose first cell is that, or of `head=cell` those that have the
    cell in the column of that head. Columns stand between bars, tabs or gaps of two spaces; heads of several lines are joined by blanks. A
    line with another number of cells ends the table."""
    place, heads, block = -1, list[str](), list[list[str]]()
    for line in output.splitlines():
        ruled = bool(_RULE.fullmatch(line.strip()))
        cells = [] if ruled else [cell.strip() for cell in _CELLS.split(line.strip().strip("|│┃").strip())]
        block = [*(block if block and len(block[0]) == len(cells) else []), cells][-MOST_HEADS:] if not ruled else []
        joined = [" ".join(filter(None, parts)) for parts in zip(*block, strict=True)]
        if joined.count(name) == 1:
            place, heads = joined.index(name), joined
        elif place >= 0 and len(cells) == len(heads):
            if _of_row(cells, heads, row) and not _RULE.fullmatch("".join(cells)):
                yield cells[place]
        elif place >= 0 and not ruled:
            place = -1


def _of_row(cells: Sequence[str], heads: Sequence[str], row: str) -> bool:
    head, named, cell = row.rpartition("=")
    return cells[heads.index(head)] == cell if named and head in heads else not row or cells[0] == row


def _where(printed: Printed) -> str:
    if printed.json_file:
        return f"{printed.json_path} of {'the output' if printed.json_file == '-' else printed.json_file}"
    if printed.column:
        return f"column {printed.column!r}" + (f" of row {printed.row!r}" if printed.row else "")
    return f"the pattern {printed.pattern!r}"


def _end(output: str) -> str:
    text = output.strip()
    return text[-SHOWN:] if text else "(nothing)"
