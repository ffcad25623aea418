"""A results folder judged against stored baselines of a history, for a gate that can't measure the base beside the change.

Only metrics that decide under the policy are looked up. A baseline that is missing, too old or from another machine is a fault, and its
message says how to renew it: a gate does not pass because it has nothing to compare with.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from perfproof import history
from perfproof.analysis.trials import model_runners
from perfproof.history.points_from_records import workload_of
from perfproof.model.base.errors import BadInput
from perfproof.model.history.point import HISTORY, Point
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import base_name
from perfproof.model.scenarios.metrics import metric as row_of
from perfproof.model.scenarios.scenario import COUNT_MARGIN
from perfproof.model.verdicts.judged import Judged
from perfproof.model.verdicts.policy import Policy
from perfproof.tracking import stored_baselines
from perfproof.tracking.stored_baselines import Here


def against_stored(records: Sequence[Record], folder: Path, policy: Policy, today: date) -> list[Judged]:
    """Judges every deciding metric of every candidate against the history in `folder`. Raises `BadInput` with all that is missing."""
    kept = history.read(folder)
    faults: list[str] = []
    rows: list[Judged] = []
    definitions = {record.scenario: record.definition for record in records}
    for point in _deciding(records, policy):
        own = [record for record in records if record.scenario == point.scenario]
        workload = _as_released(definitions[point.scenario], point.arm, max(model_runners.seen(own, point.arm), default=""))
        here = Here(today=today, machine=point.machine, environment=point.environment)
        try:
            baseline = stored_baselines.stored(kept, scenario=point.scenario, name=point.metric, workload=workload, here=here)
        except BadInput as error:
            faults += error.faults
            continue
        if refused := stored_baselines.refusal(baseline, policy.baseline, here):
            faults.append(refused)
            continue
        asked = policy.asks(point.scenario, point.metric, primary=True)
        margin = margin_of(point.metric, choice_of(definitions[point.scenario], point.metric), asked.fail)
        rows.append(stored_baselines.judged(baseline, point.values, point.arm, here, primary=True, margin=margin))
    if faults:
        elsewhere = f"the history is {folder}: give each of these commands --history {shlex.quote(str(folder))} too"
        raise BadInput(*dict.fromkeys(faults), *([] if folder == HISTORY else [elsewhere]))
    return rows


def _as_released(definition: Mapping[str, Any], arm: str, runner: str) -> str:
    """The workload of an arm without its patches: a history holds vLLM as released, and a patch is compared with that."""
    return workload_of(definition, {**definition["arms"][arm], "patches": [], "allow_unverified": False}, runner)


def choice_of(definition: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What a definition says of a metric, by its case or without; empty where it names neither."""
    metrics: Mapping[str, Mapping[str, Any]] = definition["metrics"]
    return metrics.get(name) or metrics.get(base_name(name)) or {}


def margin_of(name: str, choice: Mapping[str, Any], fail: float | None) -> float | None:
    """The margin of a metric against a stored baseline: of a time the policy's, of a count of the host's work its scenario's."""
    kind = row_of(name).kind
    return None if kind == "witness" else float(choice.get("margin", COUNT_MARGIN)) if kind == "count" else fail


def _deciding(records: Sequence[Record], policy: Policy) -> Iterator[Point]:
    """The points of deciding metrics, of every candidate."""
    of_scenario = {record.scenario: record.definition for record in records}
    for entry in history.entries_of(records):
        if isinstance(entry, Point):
            definition = of_scenario[entry.scenario]
            choice = choice_of(definition, entry.metric)
            asked = policy.asks(entry.scenario, entry.metric, primary=bool(choice.get("primary")))
            if asked.decides and choice and not definition["arms"][entry.arm].get("baseline"):
                yield entry
