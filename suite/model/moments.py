"""When a line of a table was measured, where a column says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from suite.model.errors import BadInput

COLUMNS = ("time", "timestamp", "date", "datetime", "when", "started", "start", "start_time", "measured_at")
"""Columns that may hold moments; `time` and the like may as well hold a duration, so numbers count only as seconds since 1970."""
EPOCH = 1e9
"""Seconds since 1970 from which a number is one: September 2001. Milliseconds and finer are larger yet, and sort alike."""


def column(path: Path, columns: Sequence[str], lines: Sequence[Mapping[str, str]]) -> tuple[str, list[float]]:
    """The first column of moments and the moment of each line, in an order that says no more than which came first; "" without one.

    Raises `BadInput` where some of a column's cells are moments and others are not.
    """
    for name in columns:
        if name in COLUMNS and lines:
            texts = [line[name] for line in lines]
            found = [moment(text) for text in texts]
            if (bare := [text for text in texts if _zoned(text) is False]) and any(map(_zoned, texts)):
                raise BadInput(f"{path}: {name}: {bare[0][:40]!r} has no zone, and others have one: write all alike")
            if all(one is not None for one in found):
                return name, [one for one in found if one is not None]
            if any(one is not None for one in found):
                odd = texts[[one is None for one in found].index(True)]
                raise BadInput(f"{path}: {name}: {odd[:40]!r} among moments: write all as 2026-01-31T12:00:00, or leave the column out")
    return "", []


def all_of(texts: Sequence[str]) -> list[float] | None:
    """The moments that texts name; None unless each of them does, by a date."""
    found = [_iso(text) if "-" in text else None for text in texts]
    return [one for one in found if one is not None] if found and all(one is not None for one in found) else None


def moment(text: str) -> float | None:
    """Seconds since 1970 of "2026-01-31", "2026-01-31 12:00", "2026-01-31T12:00:00Z", or a number of at least `EPOCH`."""
    if text.replace(".", "", 1).isdigit() and text.isascii() and len(text) < 30 and len(text) != len("20260131"):
        return float(text) if float(text) >= EPOCH else None
    return _iso(text)


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
