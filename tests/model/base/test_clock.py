"""The present moment is written in one way."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import perfproof
from perfproof.model.base import clock

ROOT = Path(perfproof.__file__).parent
APART = ("bench", "patches", "child")
"""What runs inside the interpreters under test imports nothing of the rest."""


def test_the_present_moment_is_utc_to_the_second_the_minute_and_the_day() -> None:
    """Records, pages and waivers read the same clock, and what was written is read again as hours since."""
    before = datetime.now(UTC).replace(microsecond=0)
    second, minute, day = clock.now(), clock.minute(), clock.today()
    after = datetime.now(UTC)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", second)
    assert before <= datetime.fromisoformat(second) <= after
    assert minute in {f"{moment:%Y-%m-%d %H:%M} UTC" for moment in (before, after)}
    assert day in {before.date(), after.date()}
    assert abs(clock.hours_since((after - timedelta(hours=30)).strftime("%Y-%m-%dT%H:%M:%SZ")) - 30) < 0.01


def test_nobody_else_asks_for_it() -> None:
    """No other file of the suite reads the clock in UTC, so that no second way of writing it comes up."""
    files = (file for file in ROOT.rglob("*.py") if file.relative_to(ROOT).parts[0] not in APART)
    asking = [str(file.relative_to(ROOT)) for file in files if re.search(r"\bgmtime\(|\bnow\(UTC\)|\bnow\(tz|utcnow\(", file.read_text())]
    assert asking == ["model/base/clock.py"]
