"""Points of records: what a round was counted to do becomes one where the scenario names it."""

from __future__ import annotations

from typing import Any

from perfproof.history.points_from_records import entries_of
from perfproof.model.history.point import Point
from tests.factory import DEFINITION, record

EMPTY: dict[str, Any] = {"c_calls": {}, "operators": {}, "lines": {}, "waiting": {}, "missed": [], "odd": [], "steps": 1, "waves": 2}


def test_a_counted_round_is_a_point_of_the_trials_that_counted_it() -> None:
    """A command is counted in some trials alone; counts that the scenario does not name are no series."""
    named = {**DEFINITION, "metrics": {"round_time": {"primary": True}, "python_instructions": {"primary": False}}}
    table = {"functions": {"m:work": [70, 1, 70, 0, 1]}, **EMPTY}
    trials = [record(named, block=block, counts={"": table} if block == 1 else {}) for block in (1, 2)]
    points = {one.metric: one for one in entries_of(trials) if isinstance(one, Point)}
    assert (points["python_instructions"].values, points["python_instructions"].kind) == ([70.0], "count")
    assert len(points["round_time"].values) == 2
    assert "python_calls" not in points
