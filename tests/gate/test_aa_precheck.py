"""How long a passed A/A of the base counts for its machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from perfproof.gate.aa_precheck import _still_valid
from tests.factory import DEFINITION, record
from tests.report.factory import floor


@pytest.mark.parametrize(("hours", "vouched"), [(-1, True), (-23, True), (-25, False), (1, True), (25, False), (24 * 365, False)])
def test_a_clock_that_was_wrong_lets_nothing_vouch_for_longer_than_a_day(hours: int, vouched: bool) -> None:
    """One of yesterday is too old, and so is one of next year, which would otherwise vouch until then."""
    when = (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert _still_valid([floor(record(DEFINITION), passed=True, when=when)]) is vouched
