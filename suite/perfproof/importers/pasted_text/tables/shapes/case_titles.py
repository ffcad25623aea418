"""Lines that say nothing but the case of the table below them, "bs=16", "M=64, N=4096", where a text has several."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from perfproof.importers.pasted_text.context.headings import LONGEST, PLAIN, Heading
from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.tables.shapes import aligned_tables, table_shapes
from perfproof.importers.pasted_text.tables.shapes.table_shapes import Table
from perfproof.importers.pasted_text.words.cells import bare
from perfproof.importers.pasted_text.words.column_names import KEY
from perfproof.model.scenarios.metric_directions import better
from perfproof.model.scenarios.side_names import role

BELOW, NEAR = 3, 200
"""Lines between a case and its table, and between one case and another, at most."""
_PART = r"(?P<{0}>[A-Za-z][A-Za-z_./-]{{0,30}}(?: [A-Za-z]{{1,12}}){{0,2}})\s?[=:]\s?[0-9][0-9.,kKM]*(?:[/x×][0-9][0-9.kKM]*){{0,3}}"
_CASE = re.compile(rf"{_PART.format('first')}(?:(?:,\s?|;\s?|\s){_PART.format('more')}){{0,5}}")
_VALUE = re.compile(r"\s?[=:]\s?[0-9].*?(?=[,;\s]|$)")
_TABLES: tuple[Callable[[Sequence[Line], int], tuple[Table, int] | None], ...] = (
    table_shapes.barred_table,
    table_shapes.separated_table,
    aligned_tables.aligned_table,
    aligned_tables.gutter_table,
)


def case_title(lines: Sequence[Line], at: int) -> tuple[Heading, int] | None:
    """A case as the heading of the table below it, where another line near says another case of the same kind."""
    keys = _keys(lines[at].text)
    if not keys or any((better(key) and not KEY.match(key)) or role(key) for key in keys):
        return None
    near = [line.text for line in lines[max(0, at - NEAR) : at + NEAR] if "=" in line.text or ":" in line.text]
    others = [text for text in near if _keys(text) == keys and bare(text) != bare(lines[at].text)]
    if not others or not above_table(lines, at):
        return None
    return Heading(text=bare(lines[at].text).strip(": "), level=PLAIN, number=lines[at].number), at + 1


def above_table(lines: Sequence[Line], at: int) -> bool:
    """Whether the next line that is not empty is a table's first."""
    below = next((place for place in range(at + 1, min(at + 1 + BELOW, len(lines))) if not lines[place].empty), len(lines))
    return below < len(lines) and any(table(lines, below) for table in _TABLES)


def _keys(text: str) -> tuple[str, ...]:
    """What a case gives values to, () for any other line."""
    plain = bare(text).strip(": ")
    if len(plain) > LONGEST or not _CASE.fullmatch(plain):
        return ()
    return tuple(each.strip(" ,;") for each in _VALUE.split(plain) if each.strip(" ,;"))
