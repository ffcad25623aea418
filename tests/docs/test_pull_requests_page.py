"""The page on pull requests gives the exit codes that `pr` has."""

from __future__ import annotations

import re
from pathlib import Path

from perfproof.changes.counting.host_count import HostCount
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS
from perfproof.model.verdicts.policy import DEFAULT_POLICY
from tests.changes.test_counted_change import IDENTICAL, host

PAGE = " ".join((Path(__file__).parents[2] / "docs" / "pull-requests.md").read_text().split())


def test_a_change_that_no_scenario_runs_has_the_exit_codes_of_its_count() -> None:
    """Nothing to try: those of the count alone; tried, and never called: no pass. Table and step say the same."""
    passed, unknown = (one.code(DEFAULT_POLICY) for one in (host(IDENTICAL), HostCount()))
    tried, alone = re.findall(r"\(exit code (\d), or (\d) where no feature ran it", PAGE)
    assert tried == (str(EXIT_INCONCLUSIVE), str(unknown))
    assert alone == (str(passed), str(unknown)) == (str(EXIT_PASS), "3")
    rows = dict(re.findall(r"\| (\d) \| ([^|]+) \|", PAGE))
    assert "there was no scenario to try" in rows[alone[0]]
    assert "no scenario that was measured ran the change" in rows[tried[0]]
    assert "no feature that was counted did" in rows[alone[1]]
