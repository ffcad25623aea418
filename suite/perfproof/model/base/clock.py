"""The present moment in UTC, as it is written: by records to the second, by pages to the minute, by waivers and locks to the day."""

from __future__ import annotations

from datetime import UTC, date, datetime


def now() -> str:
    """To the second, ISO 8601: "2026-11-28T11:37:11Z"."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def minute() -> str:
    """For people, to the minute: "2026-11-28 11:37 UTC"."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def today() -> date:
    """The day."""
    return datetime.now(UTC).date()


def hours_since(when: str) -> float:
    """Hours that have passed since a moment that `now` wrote; below 0 where that is yet to come: one of two clocks was wrong."""
    return (datetime.now(UTC) - datetime.fromisoformat(when)).total_seconds() / 3600


def is_moment(text: str) -> bool:
    """Whether a text is a moment that `hours_since` can read: ISO 8601, with its offset from UTC."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def seconds_of(when: str) -> float:
    """A moment that `is_moment` takes, in seconds since 1970."""
    return datetime.fromisoformat(when).timestamp()
