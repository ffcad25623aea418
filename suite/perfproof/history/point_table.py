"""A history as a table: a million points in a few seconds.

It reads the same lines as `history_files.read`, a block at a time. One regular expression splits a line of this version into its id, the
fields of its series, the fields of its build, the values and the time. The two long pieces are the same in very many lines, so each
distinct one is parsed, and compared with what is wanted, only once. Every other line, and one that does not agree with itself, is parsed
separately, which is slower.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pandas as pd

from perfproof.history import contradictions
from perfproof.history.append_only import Line
from perfproof.history.entry_schema import LONGEST_VERSION
from perfproof.history.history_files import EVERYTHING, Wanted, entry_on, files
from perfproof.history.overlapping_points import covered
from perfproof.model.base.errors import BadInput
from perfproof.model.history.point import POINT_SCHEMA, Point
from perfproof.model.scenarios.metrics import METRICS, base_name

BLOCK = 1 << 20
"""Bytes of a file that are split at once."""
COLUMNS = ("scenario", "metric", "arm", "machine", "workload", "build", "version", "environment", "unit", "kind", "value", "when", "id")
SERIES = ("scenario", "metric", "unit", "better", "kind", "arm")
BUILD = ("build", "version", "sources", "machine", "environment", "packages", "workload")

_TEXT = rb"[ !#-\[\]-~]*"  # printable ASCII without quotes and escapes
_NUMBER = rb"-?(?:0|[1-9]\d{0,19})(?:\.\d{1,40})?(?:[eE][+-]?\d{1,2})?"  # larger or smaller numbers are parsed separately
_OF = {"better": b"lower|higher", "kind": b"witness|timed"}


def _piece(names: Sequence[str]) -> bytes:
    return b",".join(b'"%s":"(?:%s)"' % (name.encode(), _OF.get(name, _TEXT)) for name in names)


ORDINARY = re.compile(
    rb'^(?:\{"entry":"point","schema":%d,"id":"([0-9a-f]+)",(%s),(%s),"value":(%s),"values":(\[%s(?:,%s)*\]),"rounds":\d+,"when":"(%s)"\}|.*)$'
    % (POINT_SCHEMA, _piece(SERIES), _piece(BUILD), _NUMBER, _NUMBER, _NUMBER, _TEXT),
    re.MULTILINE,
)
"""Matches every line; its groups are empty unless it is a point in this version's form."""

Piece = bytes | tuple[str, ...]
"""Neighbouring fields of a point: their text in a line, or their values."""
Row = tuple[bytes, Piece, Piece, bytes, bytes, bytes]
"""A point's id, series, build, value, values and time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Points, one per row, each once, with the columns `COLUMNS`; and warnings about lines that could not be read."""

    rows: pd.DataFrame
    warnings: tuple[str, ...]


class _Pieces:
    """Distinct pieces, numbered in the order of their first lines, and whether each is wanted."""

    def __init__(self, names: Sequence[str], takes: Callable[[Mapping[str, str]], bool]) -> None:
        self._names, self._takes = names, takes
        self._known, self._fields, self._taken = dict[Piece, int](), list[dict[str, str]](), list[bool]()

    def codes(self, pieces: Sequence[Piece]) -> npt.NDArray[np.int32]:
        """The number of each piece."""
        known = self._known
        codes = np.array([known.setdefault(piece, len(known)) for piece in pieces], dtype=np.int32)
        self._meet(islice(known, len(self._fields), None))
        return codes

    def taken(self, codes: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Whether each piece is wanted."""
        return np.array(self._taken, dtype=bool)[codes]

    def columns(self, codes: npt.NDArray[np.int32]) -> dict[str, pd.Categorical]:
        """One column per visible field."""
        made = {}
        for name in set(self._names) & set(COLUMNS):
            of_piece, values = pd.factorize(np.array([one[name] for one in self._fields], dtype=object), sort=True)
            made[name] = pd.Categorical.from_codes(of_piece[codes], categories=pd.Index(values, dtype=object))
        return made

    def _meet(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            values = orjson.loads(b"{%s}" % piece).values() if isinstance(piece, bytes) else piece
            fields = dict(zip(self._names, values, strict=True))
            self._fields.append(fields)
            self._taken.append(self._takes(fields))


class _Proofs:
    """Whether ordinary lines agree with themselves (`contradictions`); what each distinct piece brings into the hashed text is kept."""

    def __init__(self) -> None:
        self._series, self._builds = _Parts(_hashed_of_series), _Parts(_hashed_of_build)

    def doubtful(self, rows: Sequence[Sequence[bytes]]) -> list[int]:
        """The places of rows whose id or value is not that of their content, or that the slow way may not accept."""
        series_of, build_of, found = self._series, self._builds, list[int]()
        for place, (name, series, build, value, values, when) in enumerate(rows):
            arm, metric, scenario = series_of[series]
            where, packages, sources, version, workload = build_of[build]
            text = b"".join((arm, where, metric, packages, scenario, sources, values, version, when, workload))
            if hashlib.sha256(text).hexdigest()[:16].encode() != name or not (value == values[1:-1] or _is_mean(value, values)):
                found.append(place)
        return found


class _Parts(dict[bytes, tuple[bytes, ...]]):
    """What pieces bring into the text that the id of their points is the hash of (`contradictions.MEASURED`, sorted), made once each."""

    def __init__(self, made: Callable[[bytes], tuple[bytes, ...]]) -> None:
        super().__init__()
        self._made = made

    def __missing__(self, piece: bytes) -> tuple[bytes, ...]:
        self[piece] = self._made(piece)
        return self[piece]


def _hashed_of_series(piece: bytes) -> tuple[bytes, ...]:
    """Nothing, whose hash is no point's, where the series contradicts its metric."""
    fields = orjson.loads(b"{%s}" % piece)
    name = fields.get("metric", "")
    if base_name(name) not in METRICS or any(contradictions.of_metric(name, fields["unit"], fields["better"], fields["kind"])):
        return (b"",) * 3
    return b"{%s," % _members(fields, "arm"), b"%s," % _members(fields, "metric"), b"%s," % _members(fields, "scenario")


def _hashed_of_build(piece: bytes) -> tuple[bytes, ...]:
    """Nothing, whose hash is no point's, where the version can't be one."""
    fields = orjson.loads(b"{%s}" % piece)
    if len(fields.get("version", "")) > LONGEST_VERSION or not fields:
        return (b"",) * 5
    where, version = _members(fields, "build", "environment", "machine"), _members(fields, "version")
    packages, sources, workload = (_members(fields, name) for name in ("packages", "sources", "workload"))
    return b"%s," % where, b"%s," % packages, b'%s,"values":' % sources, b',%s,"when":"' % version, b'",%s}' % workload


def _members(fields: Mapping[str, str], *names: str) -> bytes:
    return ",".join(f'"{name}":"{fields[name]}"' for name in names).encode()


def _is_mean(value: bytes, values: bytes) -> bool:
    return bool(value) and contradictions.is_mean(float(value), orjson.loads(values))


def table(folder: Path, wanted: Wanted = EVERYTHING) -> Table:
    """The wanted points of a history folder; raises `BadInput` where there is none."""
    series, builds = _Pieces(SERIES, partial(_takes_series, wanted)), _Pieces(BUILD, partial(_takes_build, wanted))
    parts, warnings, proofs = [_part([], series, builds)], list[str](), _Proofs()
    for path in files(folder, wanted):
        for number, block in _blocks(path):
            parts.append(_part(_rows(path, number, block, proofs, warnings), series, builds))
    every = _each_trial_once(pd.concat(parts, ignore_index=True).drop_duplicates("id"))
    columns = series.columns(every["series"].to_numpy()) | builds.columns(every["of"].to_numpy())
    return Table(rows=every.assign(**columns)[list(COLUMNS)].reset_index(drop=True), warnings=tuple(warnings))


def _each_trial_once(every: pd.DataFrame) -> pd.DataFrame:
    """The rows without points that others cover; such points have the same series, build and time."""
    alike = every[every.duplicated(["series", "of", "when"], keep=False)]
    if alike.empty:
        return every
    same = zip(alike["series"], alike["of"], alike["when"], strict=True)
    gone = covered(zip(same, alike["id"], map(orjson.loads, alike["values"]), strict=True))
    return every[~every["id"].isin(gone)]


def _blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Complete lines of a file, about `BLOCK` bytes at a time, with the number of the first line."""
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


def _part(rows: Sequence[Row], series: _Pieces, builds: _Pieces) -> pd.DataFrame:
    """The wanted rows of a block, with the numbers of their pieces."""
    one, other = series.codes([row[1] for row in rows]), builds.codes([row[2] for row in rows])
    wanted = series.taken(one) & builds.taken(other)
    if not wanted.all():
        rows, one, other = [rows[place] for place in np.flatnonzero(wanted).tolist()], one[wanted], other[wanted]
    ids, _, _, means, values, times = zip(*rows, strict=True) if rows else ((),) * 6
    return pd.DataFrame(
        {
            "id": _objects([text.decode() for text in ids]),
            "series": one,
            "of": other,
            "value": np.array([float(value) for value in means], dtype=float),
            "values": _objects(values),
            "when": _objects([text.decode() for text in times]),
        }
    )


def _objects(values: Sequence[object]) -> pd.Series[Any]:
    """A column of texts as they are: pandas would copy them into a form of its own."""
    return pd.Series(np.array(values, dtype=object), dtype=object)


def _takes_series(wanted: Wanted, fields: Mapping[str, str]) -> bool:
    named = not wanted.metrics or fields["metric"] in wanted.metrics or base_name(fields["metric"]) in wanted.metrics
    return named and (not wanted.arms or fields["arm"] in wanted.arms)


def _takes_build(wanted: Wanted, fields: Mapping[str, str]) -> bool:
    return not wanted.builds or fields["build"] in wanted.builds


def _rows(path: Path, number: int, block: bytes, proofs: _Proofs, warnings: list[str]) -> list[Row]:
    """The points of a block, in their order."""
    found = ORDINARY.findall(block)
    rows: list[Row | None] = [*found]
    others = proofs.doubtful(found)
    texts = block.split(b"\n") if others else []
    for place in others:
        rows[place] = _slowly(path, Line(number=number + place, text=texts[place]), warnings)
    return [row for row in rows if row is not None]


def _slowly(path: Path, line: Line, warnings: list[str]) -> Row | None:
    """The point of a line in another form; None if it has none."""
    entry = entry_on(path, line) if line.text.strip() else None
    if isinstance(entry, str):
        warnings.append(entry)
    if not isinstance(entry, Point):
        return None
    series, build = (tuple(str(getattr(entry, name)) for name in names) for names in (SERIES, BUILD))
    return entry.id.encode(), series, build, repr(entry.value).encode(), orjson.dumps(list(entry.values)), entry.when.encode()
