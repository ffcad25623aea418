"""A history as a table, for people: a million points in a few seconds.

The same lines as `lines.read`, read a block at a time: what is not wanted is passed over before it is parsed, and a block in which any
line is out of the ordinary goes the slow way, line by line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pandas as pd

from suite.history import entries
from suite.history.files import Line
from suite.history.lines import EVERYTHING, Wanted, files
from suite.model.errors import BadInput
from suite.model.metrics import base_name
from suite.model.point import POINT_SCHEMA, Point

BLOCK = 1 << 24
"""Bytes of a file that are parsed at once."""
COLUMNS = ("scenario", "metric", "arm", "machine", "workload", "build", "version", "environment", "unit", "kind", "value", "when", "id")
NUMBERS = frozenset(["value"])
_ORDINARY = b'{"entry":"point","schema":%d,' % POINT_SCHEMA


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Points, one a row, each once, with the columns `COLUMNS`; and what has to be said of lines that could not be read."""

    rows: pd.DataFrame
    warnings: tuple[str, ...]


def table(folder: Path, wanted: Wanted = EVERYTHING) -> Table:
    """The wanted points of a history folder; raises `BadInput` where there is none."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    warnings: list[str] = []
    for path in files(folder, wanted):
        for number, block in _blocks(path):
            found = _block(path, number, block, wanted, warnings)
            for name, values in columns.items():
                values.extend([point[name] for point in found])
    frame = pd.DataFrame({name: _column(name, values) for name, values in columns.items()})
    return Table(rows=frame.drop_duplicates("id", ignore_index=True), warnings=tuple(warnings))


def _column(name: str, values: list[Any]) -> Any:
    if name in NUMBERS:
        return np.array(values, dtype=float)
    return pd.Series(values, dtype=object if name in ("id", "when") else "category")


def _blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Whole lines of a file, about `BLOCK` bytes at a time, with the number of the first."""
    number, rest = 1, b""
    try:
        with open(path, "rb") as file:
            while chunk := file.read(BLOCK):
                whole, end, rest = (rest + chunk).rpartition(b"\n")
                if end:
                    yield number, whole
                    number += whole.count(b"\n") + 1
                else:
                    rest = whole + rest
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
    if rest.strip():
        yield number, rest


def _block(path: Path, number: int, block: bytes, wanted: Wanted, warnings: list[str]) -> list[Any]:
    """The wanted points of a block, as plain objects of the current schema."""
    texts = block.split(b"\n")
    needles = _needles(wanted)
    if needles:
        texts = [text if _may_be(text, needles) else b"" for text in texts]
    found = _at_once([text for text in texts if text])
    if found is None:
        found = list(_one_by_one(path, number, texts, warnings))
    return [point for point in found if _takes(wanted, point)] if needles else found


def _at_once(texts: list[bytes]) -> list[Any] | None:
    """Ordinary lines parsed in one go, settings and acknowledgements left out; None if any is not ordinary."""
    ordinary = [text for text in texts if text.startswith(_ORDINARY)]
    others = (text for text in texts if not text.startswith(_ORDINARY))
    if not all(text.startswith((b'{"entry":"setting",', b'{"entry":"acknowledgement",')) and text.endswith(b"}") for text in others):
        return None
    try:
        found: list[Any] = orjson.loads(b"[" + b",".join(ordinary) + b"]")
    except orjson.JSONDecodeError:
        return None
    keys = len(Point.__slots__) + 1
    sound = len(found) == len(ordinary) and all(len(point) == keys and type(point["value"]) in (float, int) for point in found)
    return found if sound else None


def _one_by_one(path: Path, number: int, texts: list[bytes], warnings: list[str]) -> Iterator[dict[str, Any]]:
    for place, text in enumerate(texts, start=number):
        if not text.strip():
            continue
        try:
            entry = entries.entry_of(Line(number=place, text=text).parsed())
        except entries.Newer as newer:
            warnings.append(f"{path}:{place}: {newer}, skipped and kept; upgrade perfproof to see it")
        except ValueError as error:
            warnings.append(f"{path}:{place}: {error}, skipped and kept")
        else:
            if isinstance(entry, Point):
                yield {name: getattr(entry, name) for name in COLUMNS}


def _needles(wanted: Wanted) -> list[list[bytes]]:
    """For each restriction that a file's name does not settle, the texts one of which a wanted line holds."""
    metrics = [json.dumps(f"{base_name(metric)}").encode()[:-1] for metric in wanted.metrics]
    asked = [[b'"metric":' + metric for metric in metrics]]
    for key, values in (("arm", wanted.arms), ("build", wanted.builds)):
        asked.append([f'"{key}":{json.dumps(value)}'.encode() for value in values])
    return [texts for texts in asked if texts]


def _may_be(text: bytes, needles: list[list[bytes]]) -> bool:
    """Whether a line may be a wanted point: an ordinary one without a needle is not."""
    return not text.startswith(_ORDINARY) or all(any(needle in text for needle in texts) for texts in needles)


def _takes(wanted: Wanted, point: dict[str, Any]) -> bool:
    metric = point["metric"]
    return (
        (not wanted.metrics or metric in wanted.metrics or base_name(metric) in wanted.metrics)
        and (not wanted.arms or point["arm"] in wanted.arms)
        and (not wanted.builds or point["build"] in wanted.builds)
    )
