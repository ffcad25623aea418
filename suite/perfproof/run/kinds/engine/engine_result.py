"""What a counting process left becomes the numbers of a trial, one a metric and case, and the table that lies behind them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from perfproof.model.kinds.engine import case_of
from perfproof.model.records.count_tables import without_ours
from perfproof.model.records.counts import METRICS, Cell, Count, Metric, PhaseWork, numbers_of


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineResult:
    """One trial: `witnesses` by metric and case. `told` is what a judge must know beside them (`engine` in a record's environment):
    `outputs` and `functions` digests by case, `odd` names on which waves did not agree, `left_out` features that were not counted."""

    witnesses: Mapping[str, float]
    tokens: int
    told: Mapping[str, Any]


def result_of(count: Count, metrics: Collection[str]) -> EngineResult:
    """The numbers of these metrics, without cases."""
    witnesses: dict[str, float] = {}
    outputs, functions, odd = dict[str, str](), dict[str, str](), dict[str, list[str]]()
    for cell in without_ours(count).cells:
        answered = _digest(cell.outputs)
        for phase, work in cell.phases.items():
            case = case_of(phase, cell.feature, cell.requests)
            outputs[case] = answered
            functions[case] = _digest({metric: _numbers(work, metric) for metric in METRICS})
            odd |= {case: sorted(work.odd)} if work.odd else {}
            witnesses |= {f"{metric}@{case}": float(sum(_numbers(work, metric).values())) for metric in METRICS if metric in metrics}
    left_out = [{"feature": one.feature, "requests": one.requests, "kind": one.kind, "why": one.why} for one in count.left_out]
    told = {"outputs": outputs, "functions": functions, "odd": odd, "left_out": left_out}
    return EngineResult(witnesses=witnesses, tokens=sum(map(_tokens, count.cells)), told=told)


def _numbers(work: PhaseWork, metric: Metric) -> dict[str, int]:
    """A metric's numbers by name, but for what was not the same each time."""
    found = numbers_of(work, metric)
    return {name: value for name, value in found.items() if name not in work.odd}


def _tokens(cell: Cell) -> int:
    return sum(len(output) for request in cell.outputs for output in request)


def _digest(what: Any) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def calls_of(count: Count, names: Collection[str]) -> Iterator[tuple[str, int]]:
    """How often each of these functions was called in what was counted."""
    for name in names:
        calls = sum(work.functions[name].calls for cell in count.cells for work in cell.phases.values() if name in work.functions)
        if calls:
            yield name, calls
