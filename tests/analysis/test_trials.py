"""Which trials of a block count: those of the last time that it was measured, and what failed for good."""

from __future__ import annotations

import pytest

from suite.analysis.trials import attempts, latest
from suite.model.record import Record, Status
from tests.factory import record


def _told(said: str) -> list[Record]:
    """Trials of one block in the order of their ends: "a- b+" is arm a, thrown out, and arm b, fine; "a!" failed."""
    statuses: dict[str, Status] = {"+": "ok", "-": "invalid", "!": "failed"}
    return [record(arm=one[0], status=statuses[one[1]], started=str(place)) for place, one in enumerate(said.split())]


@pytest.mark.parametrize(
    ("ran", "count"),
    [
        ("a+ b+", "a0 b1"),
        ("a- b+ a+ b+", "a2 b3"),
        ("a- b+ a+", "a2"),
        ("a- a+ b+", "a1 b2"),
        ("a+ b- b+ a+", "b2 a3"),
        ("a- b- a- b+ a+ b+", "a4 b5"),
        ("a! b- a+ b+", "a0 b3"),
        ("a+", "a0"),
        ("", ""),
    ],
)
def test_the_trials_that_count_are_of_one_time(ran: str, count: str) -> None:
    """No trial of an earlier time stands beside one of a later; what failed for good stays failed, however often it is measured."""
    assert " ".join(f"{one.arm}{one.started}" for one in latest(_told(ran))) == count


def test_a_block_begins_anew_with_the_first_arm_that_is_measured_again() -> None:
    """Each record is told with how often its block had been measured before; blocks are counted by themselves."""
    records = [*_told("a- b+ a+ b+"), record(block=2, arm="a"), record(block=2, arm="b")]
    assert [number for _, number in attempts(records)] == [0, 0, 1, 1, 0, 0]
