"""Rows of values between commas, semicolons or tabs without a head, whose columns a line above them names: "The columns are commit,
batch size, decode tok/s."."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.tables.shapes.table_shapes import LEAST_ROWS, MOST_ROWS, Table
from perfproof.importers.pasted_text.words.cells import bare, cell

NEAR = 6
"""Lines above rows in which their columns are named, at most."""
LEAST_COLUMNS = 3
_NAMES = re.compile(
    r"(?i)\b(?:columns?|fields|format|header)\b(?:\s+(?:are|is|were|being))?(?:\s*[:=(]\s*|\s+)(?P<names>[^.:]*(?:\.\w[^.:]*)*)"
)
_COMMENT = re.compile(r"^(?:#|//|--)\s*(?P<names>[^\W\d][^:]*)$")
"""A head that is marked as a comment."""


def named_table(lines: Sequence[Line], at: int) -> tuple[Table, int] | None:
    """Rows without a head as a table, where a line right above names as many columns."""
    if lines[at].text[:1] in "|#-*":
        return None
    for mark in ("\t", ",", ";"):
        head = _head(lines, at, lines[at].text.count(mark) + 1) if mark in lines[at].text else ()
        rows, place = _rows(lines, at, mark) if head else ([], at)
        if len(rows) >= LEAST_ROWS:
            return Table(rows=(head, *rows), ruled=True, drawn=False, number=lines[at].number), place
    return None


def commented_table(lines: Sequence[Line], at: int) -> tuple[Table, int] | None:
    """A head that is a comment above such rows, "# commit,bs,tok_s"."""
    found = _COMMENT.match(lines[at].text)
    mark = next((each for each in ("\t", ",", ";") if found and each in found["names"]), "")
    if not found or not mark or at + 1 >= len(lines):
        return None
    head = tuple(each.strip() for each in found["names"].split(mark))
    rows, place = _rows(lines, at + 1, mark)
    fits = len(rows) >= LEAST_ROWS and len(rows[0]) == len(head)
    return (Table(rows=(head, *rows), ruled=True, drawn=False, number=lines[at].number), place) if fits else None


def _rows(lines: Sequence[Line], at: int, mark: str) -> tuple[list[tuple[str, ...]], int]:
    """The rows from a line on that have as many cells as it, two values or more in each, and the place after them."""
    rows: list[tuple[str, ...]] = []
    place = at
    while place < len(lines) and len(rows) < MOST_ROWS and mark in lines[place].text:
        row = tuple(each.strip() for each in lines[place].text.split(mark))
        if len(row) < LEAST_COLUMNS or (rows and len(row) != len(rows[0])) or sum(cell(each).kind == "value" for each in row) < LEAST_ROWS:
            break
        rows.append(row)
        place += 1
    return rows, place


def _head(lines: Sequence[Line], at: int, columns: int) -> tuple[str, ...]:
    """The names that a line near above gives to as many columns, () where none does."""
    for line in reversed(lines[max(0, at - NEAR) : at]):
        for found in _NAMES.finditer(bare(line.text)):
            inside = found["names"].strip()
            inside = inside[:-1] if inside.count(")") > inside.count("(") else inside
            names = [each.strip() for each in re.split(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+", inside)]
            if len(names) == columns and all(re.match(r"[^\W\d]", each) for each in names):
                return tuple(names)
    return ()
