"""Throughput against latency: scenarios with the same arms and requests at different loads, shown as one curve per arm.

A server's load is a flag of the client (`max-concurrency` or `request-rate`). So a sweep is a set of scenarios that differ only in that
flag and in the number of requests and warm-ups that goes with it. Each load has its own verdict; the curve is an illustration.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perfproof.analysis.stats.samples import typical
from perfproof.model.base.untrusted import line
from perfproof.model.records.record import Record
from perfproof.report.base import formatting
from perfproof.report.base.page_model import FrontierView

KNOBS = ("max-concurrency", "request-rate")
RATES = ("output_throughput", "request_throughput")
LATENCIES = ("median_tpot", "median_e2el", "median_ttft")
_GO_WITH_IT = ("requests", "warmups")
"""The keys of a workload that may change with its load."""
Point = tuple[float, str, Sequence[Record]]
"""A load, the scenario's name, its records."""


def frontiers(of_name: Mapping[str, Sequence[Record]]) -> Iterable[FrontierView]:
    """Every set of scenarios (name to records) that sweeps a load over two values or more."""
    groups: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for name, records in of_name.items():
        definition = records[-1].definition if records else {}
        for knob in KNOBS:
            load = _load(definition, knob)
            if load is not None:
                groups[knob, _rest(definition, knob)].append((load, name, records))
    for (knob, _), points in groups.items():
        view = _view(knob, sorted(points, key=lambda point: point[:2]))
        if view is not None:
            yield view


def _load(definition: Mapping[str, Any], knob: str) -> float | None:
    """The value of a load setting, where it is a number."""
    workload = definition.get("workload")
    client = workload.get("client") if isinstance(workload, Mapping) else None
    value = client.get(knob) if isinstance(client, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _rest(definition: Mapping[str, Any], knob: str) -> str:
    """The rest of a definition, as one text."""
    workload = {key: value for key, value in definition["workload"].items() if key not in _GO_WITH_IT}
    workload["client"] = {key: value for key, value in workload["client"].items() if key != knob}
    return json.dumps([workload, definition.get("arms"), definition.get("builds")], sort_keys=True, default=str)


def _view(knob: str, points: Sequence[Point]) -> FrontierView | None:
    """One curve per arm; None where there are fewer than two loads, or no rate and latency that all of them measured."""
    arms = tuple(dict.fromkeys(line(record.arm) for _, _, records in points for record in _ordered(records)))
    measured = [{name for record in records for name in record.measurements} for _, _, records in points]
    rate = next((name for name in RATES if all(name in names for names in measured)), None)
    latency = next((name for name in LATENCIES if all(name in names for names in measured)), None)
    if len({load for load, _, _ in points}) < 2 or rate is None or latency is None:
        return None
    rates = tuple(tuple(_typical(records, arm, rate) for _, _, records in points) for arm in arms)
    latencies = tuple(tuple(_typical(records, arm, latency) for _, _, records in points) for arm in arms)
    if min(map(min, (*rates, *latencies))) <= 0:
        return None
    return FrontierView(
        scenarios=tuple(name for _, name, _ in points),
        knob=knob,
        loads=tuple(load for load, _, _ in points),
        arms=arms,
        rate=rate,
        latency=latency,
        throughputs=rates,
        latencies=latencies,
        finding=_finding(arms, rate, rates, latency, latencies),
    )


def _finding(arms: Sequence[str], rate: str, rates: Sequence[Sequence[float]], latency: str, latencies: Sequence[Sequence[float]]) -> str:
    """The changes of every candidate at equal load, over all loads: "patched: output throughput +3.1 to +9.0 %, median TPOT …"."""
    parts = []
    for place, arm in enumerate(arms[1:], 1):
        changes = (
            f"{formatting.label(name)} {formatting.span([now / before - 1 for now, before in zip(values[place], values[0], strict=True)])}"
            for name, values in ((rate, rates), (latency, latencies))
        )
        parts.append(f"{arm}: {', '.join(changes)}")
    return "; ".join(parts)


def _ordered(records: Sequence[Record]) -> Sequence[Record]:
    """The baseline's records first."""
    arms = records[-1].definition.get("arms")
    baseline = {name for name, arm in arms.items() if isinstance(arm, Mapping) and arm.get("baseline")} if isinstance(arms, Mapping) else ()
    return sorted(records, key=lambda record: record.arm not in baseline)


def _typical(records: Sequence[Record], arm: str, metric: str) -> float:
    """The geometric mean over the trials of an arm that count; 0 without any."""
    values = [record.measurements.get(metric, 0.0) for record in records if line(record.arm) == arm and record.status == "ok"]
    return float(typical(values)) if values and min(values) > 0 else 0.0
