"""What does not count is listed with its reason, and what was measured after all is not listed."""

from __future__ import annotations

from perfproof.analysis.trials.invalidation import ONLY_COUNTED
from perfproof.report.base.page_model import TrialView
from perfproof.report.text.exclusions import spoilt


def trial(arm: str, status: str, reason: str) -> TrialView:
    fields = {"position": 0, "detail": "", "how": "process", "started": "", "values": {}, "warnings": (), "log": ""}
    return TrialView(block=1, arm=arm, status=status, reason=reason, **fields)  # type: ignore[arg-type]


def test_of_what_was_counted_first_nothing_is_told_once_it_was_timed() -> None:
    """The arm that was not timed is named; the other's timed trial stands for it."""
    counted = [trial(arm, "invalid", ONLY_COUNTED) for arm in ("base", "diff")]
    told = list(spoilt([*counted, trial("base", "ok", "")]))
    assert told == [f"1 trial of diff invalid (block 1): {ONLY_COUNTED}"]
