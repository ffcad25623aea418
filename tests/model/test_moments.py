"""Dates as people and their spreadsheets write them: read, or refused where they may be read in two ways."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.model.base.errors import BadInput
from perfproof.model.base.timestamps import column, named

FILE = Path("n.csv")
FORMS = {
    "iso": "%Y-%m-%d",
    "iso, time": "%Y-%m-%dT%H:%M:%S",
    "slashes": "%Y/%m/%d",
    "German": "%d.%m.%Y",
    "American": "%m/%d/%Y",
    "American, time": "%m/%d/%Y %I:%M %p",
    "British": "%d/%m/%Y",
    "words": "%b %d, %Y",
    "words, day first": "%d %B %Y",
    "git": "%a %b %d %H:%M:%S %Y +0000",
    "mail": "%a, %d %b %Y %H:%M:%S +0000",
}
DAYS = st.lists(st.integers(0, 800), min_size=3, max_size=12, unique=True)
LATE = datetime(2026, 3, 31, 12, 5, tzinfo=UTC)
"""Beside it nobody takes a day for a month."""


@settings(deadline=None)
@given(st.sampled_from(sorted(FORMS)), DAYS)
def test_dates_of_any_form_have_one_order(form: str, days: list[int]) -> None:
    """As long as one of them has a day that is no month."""
    moments = [LATE, *(LATE + timedelta(days=day + 1) for day in days)]
    texts = [moment.strftime(FORMS[form]) for moment in moments]
    name, found = column(FILE, ["date"], [{"date": text} for text in texts])
    assert name == "date"
    assert sorted(range(len(found)), key=found.__getitem__) == sorted(range(len(moments)), key=moments.__getitem__)
    assert named(FILE, texts).at == tuple(found)


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (("3/4/2026", "4/3/2026"), "may have its day or its month first"),
        (("13/4/2026", "4/13/2026"), "may have its day or its month first"),
        (("2026-03-04", "yesterday"), "'yesterday' among moments"),
        (("12:05", "12:10"), "is no moment that can be read"),
        (("Mar 3", "Mar 4"), "is no moment that can be read"),
        (("31.02.2026", "30.02.2026"), "is no moment that can be read"),
    ],
)
def test_a_column_of_dates_that_can_not_be_read_is_refused(texts: tuple[str, ...], told: str) -> None:
    """It is never skipped, for it may show that arms were measured apart, or that the newest stands first."""
    with pytest.raises(BadInput, match=told):
        column(FILE, ["date"], [{"date": text} for text in texts])


@pytest.mark.parametrize("texts", [("0.5", "12.25"), ("cold", "warm"), ("", ""), ("12", "13")])
def test_durations_and_words_are_no_moments(texts: tuple[str, ...]) -> None:
    """A column named time may as well say how long."""
    assert column(FILE, ["time"], [{"time": text} for text in texts]) == ("", [])


@pytest.mark.parametrize(
    "texts", [("0.9.1", "0.10.0"), ("10.11.12", "9.10.11"), ("20260131", "99999999"), ("b9", "b10"), ("a1b2c3d", "1234567")]
)
def test_versions_and_numbers_are_no_dates(texts: tuple[str, ...]) -> None:
    """What might be another name is not taken for a day."""
    assert set(named(FILE, texts).at) == {None}


def test_a_date_within_a_name_and_one_without_a_year() -> None:
    """The first is as good as a date; of the second nobody knows the year."""
    found = named(FILE, ["nightly-2026-01-02", "nightly-2026-01-01"])
    assert found.sure
    assert found.at[0] > found.at[1]  # type: ignore[operator]
    assert not named(FILE, ["Mar 3", "Mar 2"]).sure


def test_a_column_of_one_moment_says_nothing() -> None:
    """A day on which everything was measured is no order; another column may have one."""
    lines = [{"date": "2026-03-01", "time": str(1_700_000_000 + place)} for place in (2, 1)]
    assert column(FILE, ["date", "time"], lines)[0] == "time"
    assert column(FILE, ["date"], lines) == ("", [])
