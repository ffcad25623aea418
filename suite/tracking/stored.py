"""A results folder judged against what the history has stored, for a gate that can't measure the base beside the change.

Only metrics that decide under the policy are looked up. What is missing, too old or of another machine is a fault, with how to renew it:
a gate does not pass for want of something to compare with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from suite import history
from suite.model.errors import BadInput
from suite.model.judged import Judged
from suite.model.metrics import metric as row_of
from suite.model.point import Point
from suite.model.policy import Policy
from suite.model.record import Record
from suite.tracking import baselines
from suite.tracking.baselines import Here


def against_stored(records: Sequence[Record], folder: Path, policy: Policy, today: date) -> list[Judged]:
    """Every deciding metric of every arm but the baseline, against the history in `folder`. Raises `BadInput` with all that is missing."""
    kept = history.read(folder)
    faults: list[str] = []
    rows: list[Judged] = []
    for point in _deciding(records, policy):
        here = Here(today=today, machine=point.machine, environment=point.environment)
        try:
            found = baselines.stored(kept, scenario=point.scenario, name=point.metric, workload=point.workload, here=here)
        except BadInput as error:
            faults += error.faults
            continue
        if refused := baselines.refusal(found, policy.baseline, here):
            faults.append(refused)
            continue
        asked = policy.asks(point.scenario, point.metric, primary=True)
        margin = None if row_of(point.metric).kind == "witness" else asked.fail
        rows.append(baselines.judged(found, point.values, point.arm, here, primary=True, margin=margin))
    if faults:
        raise BadInput(*faults)
    return rows


def _deciding(records: Sequence[Record], policy: Policy) -> Iterator[Point]:
    """The points of what decides, of every arm but its scenario's baseline."""
    of_scenario = {record.scenario: record.definition for record in records}
    for entry in history.entries_of(records):
        if isinstance(entry, Point):
            definition = of_scenario[entry.scenario]
            choice = definition["metrics"].get(entry.metric) or definition["metrics"].get(entry.metric.partition("@")[0]) or {}
            asked = policy.asks(entry.scenario, entry.metric, primary=bool(choice.get("primary")))
            if asked.decides and choice and not definition["arms"][entry.arm].get("baseline"):
                yield entry
