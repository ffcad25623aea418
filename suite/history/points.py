"""The records of a results folder become points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from suite.model.point import Entry
from suite.model.record import Record


def entries_of(records: Sequence[Record], arm_name: Callable[[Record], str] = lambda record: record.arm) -> list[Entry]:
    """A point for each metric of each scenario, arm and build, from the trials that count, and the settings that they name.

    `arm_name` says what the series calls a record's arm: a tracker whose arms are builds gives them all one name.
    """
    raise NotImplementedError
