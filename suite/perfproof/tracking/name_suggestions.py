"""Names that a history does not have: they are refused with close names, instead of an empty answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from perfproof.history import EVERYTHING, Wanted
from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.scenarios.metrics import base_name

if TYPE_CHECKING:
    import pandas as pd

MOST = 12
"""The most names listed where none is close."""


def check(folder: Path, wanted: Wanted, rows: pd.DataFrame | None = None) -> None:
    """Raises `BadInput` with every name that no point of the history has, or where no single point has all of the names.

    `rows` are the wanted points, if they were read already.
    """
    if wanted == EVERYTHING:
        return
    from perfproof.history import point_table  # late: pandas is an extra, and a whole history needs no check

    rows = point_table.table(folder, wanted).rows if rows is None else rows
    names_by_kind = {kind.removesuffix("s"): names for kind, names in asdict(wanted).items()}
    if all(names <= _names(rows, kind) for kind, names in names_by_kind.items()):
        return
    faults = [fault for kind, names in names_by_kind.items() for fault in _faults(folder, kind, names, point_table.table(folder).rows)]
    if not faults and rows.empty:
        together = " ".join(f"--{kind} {name}" for kind, names in names_by_kind.items() for name in sorted(names))
        faults = [f"{folder}: no point has all of these: {together}; 'perfproof history list' has the series that there are"]
    if faults:
        raise BadInput(*faults)


def _faults(folder: Path, kind: str, names: frozenset[str], every: pd.DataFrame) -> Iterator[str]:
    there = sorted(_names(every, kind))
    for name in sorted(names.difference(there)):
        near = get_close_matches(name, there, n=3)
        advice = f"did you mean {' or '.join(near)}?" if near else f"there are {few(there, MOST)}" if there else "it is empty"
        yield f"--{kind} {name}: {folder} has no such name; {advice}"


def _names(rows: pd.DataFrame, kind: str) -> set[str]:
    """The names of that kind; metrics with and without their cases."""
    names = {str(name) for name in rows[kind].unique()}
    return names | {base_name(name) for name in names} if kind == "metric" else names
