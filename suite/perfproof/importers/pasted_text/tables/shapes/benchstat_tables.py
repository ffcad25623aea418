"""benchstat's table of files: their names in a first line of bars, their units in a second, rows without bars below."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.tables.shapes.table_shapes import Table

_OUTPUT = re.compile(r"\.(?:txt|log|out|bench)$")
_VALUE = re.compile(r"^(?P<digits>[0-9][0-9.,]*)(?P<prefix>Ki|Mi|Gi|[nuµμmkM])?(?P<spread> ±.*)?$")
_PREFIXES = {"sec": {"n": "ns", "u": "us", "µ": "us", "μ": "us", "m": "ms", "": "s"}, "B": {"Ki": "KiB", "Mi": "MiB", "Gi": "GiB", "": "B"}}
"""What a letter behind a number means under a unit: "4.2µ" in sec/op is 4.2 us."""


def benchstat_table(lines: Sequence[Line], at: int) -> tuple[Table, int] | None:
    """Two lines of bars with files above units, then rows of as many values."""
    files, units = (_barred(lines, at + offset) for offset in (0, 1))
    if len(files) < 2 or len(files) != len(units) or not all("/" in unit for unit in units):
        return None
    rows: list[tuple[str, ...]] = []
    place = at + 2
    while place < len(lines) and len(cells := re.split(r"\s{2,}", lines[place].text)) > len(files):
        rows.append((cells[0], *_values(cells[1:], units)))
        place += 1
    head = ("", *(f"{_OUTPUT.sub('', file)} {unit.split()[0]}" for file, unit in zip(files, units, strict=True)))
    return (Table(rows=(head, *rows), ruled=True, drawn=False, number=lines[at].number), place) if rows else None


def _barred(lines: Sequence[Line], at: int) -> list[str]:
    """The cells of a line whose first cell is empty, as a table of files begins, [] for any other."""
    text = lines[at].text if at < len(lines) else ""
    return [each.strip() for each in text.strip("│ ").split("│")] if text.startswith("│") and text.endswith("│") else []


def _values(cells: Sequence[str], units: Sequence[str]) -> list[str]:
    """A value a file, with its unit; what stands between is a claim about them."""
    found = [match for each in cells if (match := _VALUE.match(each))]
    letters = [_PREFIXES.get(unit.split("/")[0], {}) for unit in units]
    values = [
        f"{match['digits']} {known.get(match['prefix'] or '', match['prefix'] or '')}{match['spread'] or ''}"
        for match, known in zip(found, letters, strict=False)
    ]
    return [*values, *[""] * (len(units) - len(values))]
