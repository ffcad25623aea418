"""Whether a table's sides are named outside of its columns, by headings above tables like it or by its rows: then columns of several
backends, versions or precisions are series, and no sides."""

from __future__ import annotations

from collections.abc import Sequence

from perfproof.importers.pasted_text.tables.shapes.table_shapes import Table
from perfproof.importers.pasted_text.words.cells import bare
from perfproof.importers.pasted_text.words.column_names import Body, Column
from perfproof.model.scenarios.side_names import role


def below_headings(tables: Sequence[tuple[Table, str]]) -> frozenset[int]:
    """The lines of the tables that stand below one side's heading, and have most names of their head in common with one below another's."""
    heads = [(table.number, side.casefold(), {bare(name).casefold() for name in table.rows[0] if name}) for table, side in tables if side]
    return frozenset(
        number
        for number, side, names in heads
        if any(side != other and 2 * len(names & own) > max(len(names), len(own)) for _, other, own in heads)
    )


def in_rows(columns: Sequence[Column], body: Body) -> bool:
    """Whether the rows of a column of words name a baseline and another side."""
    return any(
        column.kind == "label" and {role(row[place].text) for row in body} >= {"baseline", "candidate"}
        for place, column in enumerate(columns)
    )


def named(columns: Sequence[str]) -> bool:
    """Whether the names of columns say themselves which is the baseline and which is not."""
    return {role(name) for name in columns} >= {"baseline", "candidate"}
