"""When a line of a table was measured, where a column or a name says so.

It refuses to guess: "3/4/2026" may be of March or of April until another line tells, and a date without a year has no place in an order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from perfproof.model.base.errors import BadInput

COLUMNS = ("time", "timestamp", "date", "datetime", "when", "started", "start", "start_time", "measured_at")
"""Columns that may hold moments; `time` and the like may as well hold a duration, so numbers count only as seconds since 1970."""
EPOCH = 1e9
"""Seconds since 1970 from which a number is one: September 2001. Milliseconds and finer are larger yet, and sort alike."""
LATEST = 1e11
"""Seconds since 1970 up to which a number is one: the year 5138. Larger ones are of finer units."""
REMEDY = "write all as 2026-01-31T12:00:00"
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*\.?"
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_TURNED = re.compile(r"(?P<year>[0-9]{4})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?:(?P=mark)(?P<day>[0-9]{1,2}))?(?P<rest>[ T,].*)?")
"""2026/1/31, 2026.1.31 and 2026-01."""
_PARTS = re.compile(
    r"(?P<first>[0-9]{1,2})(?P<mark>[-/.])(?P<second>[0-9]{1,2})(?P=mark)(?P<year>[0-9]{4}|(?<=/)[0-9]{2})(?P<rest>[ T,].*)?"
)
"""31.1.2026 and 1/31/2026: which is the day, the other lines tell."""
_WORDS = re.compile(
    rf"(?:[a-z]{{3,9}},? )?(?:(?P<month>{_MONTH}) (?P<day>[0-9]{{1,2}})|(?P<day2>[0-9]{{1,2}})\.?[ -](?P<month2>{_MONTH}))"
    r"(?:,?[ -](?P<year>[0-9]{4}))?(?P<rest>[ T,].*)?",
    re.IGNORECASE,
)
"""Jan 31, 2026 and 31 January 2026."""
_GIT = re.compile(
    rf"[a-z]{{3}} (?P<month>{_MONTH}) +(?P<day>[0-9]{{1,2}}) (?P<rest>[0-9:]{{8}}) (?P<year>[0-9]{{4}})(?P<zone> .*)?", re.IGNORECASE
)
"""Tue Mar 24 12:00:00 2026 +0100, as `git log` writes it."""
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}(?![0-9])")


def column(path: Path, columns: Sequence[str], lines: Sequence[Mapping[str, str]]) -> tuple[str, list[float]]:
    """The first column of moments and the moment of each line, in an order that says no more than which came first; "" without one. A
    column of one and the same moment says nothing.

    Raises `BadInput` where some of a column's cells are moments and others are not, and where a column is of dates that can't be read.
    """
    for name in columns:
        if name in COLUMNS and lines:
            texts = [line[name] for line in lines]
            if (bare := [text for text in texts if _zoned(text) is False]) and any(map(_zoned, texts)):
                raise BadInput(f"{path}: {name}: {bare[0][:40]!r} has no zone, and others have one: write all alike")
            if (found := _read(f"{path}: {name}", texts)) is not None and (len(found) == 1 or len(set(found)) > 1):
                return name, found
    return "", []


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The moment that each name is of, None for those that are of none; `sure` is False where none says its year, so that moments of one
    turn of the year stand the wrong way round."""

    at: tuple[float | None, ...]
    sure: bool


def named(path: Path, texts: Sequence[str]) -> Named:
    """The moments that names are of, or hold as 2026-01-31. Raises `BadInput` where day and month can't be told apart."""
    inside = [_ISO.findall(text) for text in texts]
    if inside and all(len(each) == 1 for each in inside) and len({tuple(_ISO.split(text)) for text in texts}) == 1 and not _iso(texts[0]):
        texts = [each[0] for each in inside]
    words = [match for text in texts if (match := _WORDS.fullmatch(text))]
    yearless = bool(words) and not any(match["year"] for match in words)
    first = _day_first(f"{path}: point", texts)
    return Named(at=tuple(_moment(text, first, numbers=False, year="2000" if yearless else "") for text in texts), sure=not yearless)


def moment(raw: object) -> float | None:
    """The moment of an ISO date, 2026-01-31T12:00:00; None for anything else. Without a zone it is one of UTC."""
    return _iso(raw) if isinstance(raw, str) else None


def epoch(raw: object) -> float | None:
    """A number that is seconds since 1970; None for anything else."""
    return float(raw) if isinstance(raw, int | float) and EPOCH <= raw <= LATEST else None


def _read(where: str, texts: Sequence[str]) -> list[float] | None:
    """The moment of each cell; None where none looks like one."""
    if not any(map(_dated, texts)):
        return None
    first = _day_first(where, texts)
    found = [_moment(text, first, numbers=True) for text in texts]
    if (odd := next((text for text, one in zip(texts, found, strict=True) if one is None), None)) is not None:
        among = "among moments" if any(one is not None for one in found) else "is no moment that can be read"
        raise BadInput(f"{where}: {odd[:40]!r} {among}: {REMEDY}, or leave the column out")
    return [one for one in found if one is not None]


def _dated(text: str) -> bool:
    """Whether a cell looks like a moment, read or not."""
    if _number(text):
        return _epoch(text) is not None
    return bool(_CLOCK.match(text)) or _iso(text) is not None or any(form.fullmatch(text) for form in (_TURNED, _PARTS, _WORDS, _GIT))


def _day_first(where: str, texts: Sequence[str]) -> bool:
    """Whether of 3/4/2026 the 3 is the day. A part above 12 tells; raises `BadInput` where none does and it alters the order."""
    parts = [match for text in texts if (match := _PARTS.fullmatch(text))]
    first, second = (any(int(match[name]) > 12 for match in parts) for name in ("first", "second"))
    if first == second and parts:
        orders = [sorted(range(len(parts)), key=lambda place: _moment(parts[place][0], by, numbers=True) or 0.0) for by in (True, False)]
        if first or orders[0] != orders[1]:
            raise BadInput(f"{where}: {parts[0][0][:40]!r} may have its day or its month first: {REMEDY}")
    return first or not second


def _moment(text: str, day_first: bool, *, numbers: bool, year: str = "") -> float | None:
    """Seconds since 1970. `numbers` says that they may be numbers; a name is none, whatever its digits. `year` is that of dates without."""
    if _number(text):
        return _epoch(text) if numbers else None
    if (numbers or "-" in text) and (found := _iso(text)) is not None:
        return found
    if (match := _TURNED.fullmatch(text)) and (numbers or match["mark"] != "."):
        return _of(match["year"], match["month"], match["day"] or "1", match["rest"])
    if match := _PARTS.fullmatch(text):
        day, month = (match["first"], match["second"]) if day_first else (match["second"], match["first"])
        return _of(match["year"].rjust(4, "0")[:2].replace("00", "20") + match["year"][-2:], month, day, match["rest"])
    if match := _GIT.fullmatch(text):
        return _of(match["year"], _month(match["month"]), match["day"], match["rest"] + (match["zone"] or ""))
    if (match := _WORDS.fullmatch(text)) and (match["year"] or year):
        return _of(match["year"] or year, _month(match["month"] or match["month2"]), match["day"] or match["day2"], match["rest"])
    return None


def _month(name: str) -> str:
    return str(_MONTHS.index(name[:3].lower()) + 1)


def _of(year: str, month: str, day: str, rest: str | None) -> float | None:
    """The moment of a day, and of the time behind it; None where there is no such day or the time can't be read."""
    date = f"{year}-{month.zfill(2)}-{day.zfill(2)}"
    clock = (rest or "").strip(" T,")
    if not clock:
        return _iso(date)
    if (found := _iso(f"{date}T{clock.replace(' ', '')}")) is not None:
        return found
    for form in ("%I:%M:%S %p", "%I:%M %p", "%H:%M:%S", "%H:%M"):
        try:
            return datetime.strptime(f"{date} {clock}", f"%Y-%m-%d {form}").replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return None


def _number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit() and text.isascii() and len(text) < 30 and len(text) != len("20260131")


def _epoch(text: str) -> float | None:
    return float(text) if float(text) >= EPOCH else None


def _zoned(text: str) -> bool | None:
    """Whether a time of a day says its zone; None for what is none."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return None


def _iso(text: str) -> float | None:
    """A time without a zone counts as one of UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
