"""GuideLLM's benchmarks.json: one report, a benchmark for each rate or number of streams. Each benchmark is one trial of its own load.

Only requests that succeeded count. Rates are their mean over the run: GuideLLM's other statistics of a rate are of moments, not of runs.
GuideLLM's time per output token includes the first token, so it has a name of its own; vLLM's is GuideLLM's inter-token latency.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from perfproof.importers.result_files.fields import Fields, refuse
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.base import timestamps
from perfproof.model.records.result_runs import ResultRun, Word

RATES = {
    "requests_per_second": ("request_throughput", "req/s"),
    "output_tokens_per_second": ("output_throughput", "tok/s"),
    "tokens_per_second": ("total_token_throughput", "tok/s"),
}
OF_REQUESTS = {
    "request_latency": ("request_latency", "s"),
    "time_to_first_token_ms": ("time_to_first_token", "ms"),
    "inter_token_latency_ms": ("inter_token_latency", "ms"),
    "time_per_output_token_ms": ("time_per_output_token_with_first", "ms"),
}
STATISTICS = {"mean": "mean", "median": "median", "std_dev": "std"}
PERCENTILES = ("p90", "p95", "p99")
HEADLINES = ("output_throughput", "median_time_to_first_token", "median_inter_token_latency")
STRATEGY = {"type_": "load", "streams": "streams", "rate": "rate", "max_concurrency": "concurrency"}
LONGEST = 200


def recognises(source: Source) -> bool:
    """Whether it is one object with benchmarks whose metrics have a time to the first token, by how requests ended."""
    found = source.objects
    benchmarks = found[0][1].get("benchmarks") if len(found) == 1 else None
    return isinstance(benchmarks, list) and bool(benchmarks) and all(_is_benchmark(each) for each in benchmarks)


def _is_benchmark(raw: Any) -> bool:
    metrics = raw.get("metrics") if isinstance(raw, dict) else None
    return isinstance(metrics, dict) and isinstance(metrics.get("time_to_first_token_ms"), dict) and "requests_per_second" in metrics


def runs(source: Source) -> list[ResultRun]:
    """The benchmarks of a report; raises `BadInput` with every fault."""
    where, report = source.objects[0]
    faults: list[str] = []
    found = [_run(f"{where}, benchmark {number}", report, each, faults) for number, each in enumerate(report["benchmarks"], 1)]
    refuse(faults)
    return found


def _run(where: str, report: Mapping[str, Any], benchmark: Mapping[str, Any], faults: list[str]) -> ResultRun:
    metrics = benchmark["metrics"]
    whole = Fields(where=where, members=benchmark)
    for key, (name, unit) in RATES.items():
        own = _successful(where, key, metrics)
        own.take("mean", name, unit, headline=name in HEADLINES)
        whole.join(own, key)
    for key, (name, unit) in OF_REQUESTS.items():
        own = _successful(where, key, metrics)
        for member, statistic in STATISTICS.items():
            called = f"{statistic}_{name}"
            own.take(member, called, unit, statistic=statistic, headline=called in HEADLINES, better="lower")
        inner = Fields(where=f"{own.where}: percentiles", members=own.part("percentiles"))
        for member in PERCENTILES:
            inner.take(member, f"{member}_{name}", unit, statistic=member, better="lower")
        whole.join(own, key)
        whole.join(inner, key)
    totals = Fields(
        where=f"{where}: request_totals", members=metrics["request_totals"] if isinstance(metrics.get("request_totals"), dict) else {}
    )
    done = totals.words({"successful": "completed requests"}) | _tokens(where, metrics)
    faults += whole.faults
    return ResultRun(
        source=where,
        values=tuple(whole.values),
        asked=_asked(report, benchmark),
        done=done,
        setting=_part(report, "metadata").words({"guidellm_version": "GuideLLM", "platform": "platform", "python_version": "Python"}),
        at=timestamps.epoch(benchmark.get("start_time")),
        inside=f"{done.get('completed requests', 'its')} requests",
        left_out=tuple(whole.left_out),
        doubts=tuple(_doubts(totals)),
    )


def _successful(where: str, key: str, metrics: Mapping[str, Any]) -> Fields:
    """The statistics of a metric over the requests that succeeded."""
    raw = metrics.get(key)
    return Fields(where=f"{where}: {key}: successful", members=_part(raw if isinstance(raw, dict) else {}, "successful").members)


def _part(members: Mapping[str, Any], key: str) -> Fields:
    raw = members.get(key)
    return Fields(where=key, members=raw if isinstance(raw, dict) else {})


def _tokens(where: str, metrics: Mapping[str, Any]) -> dict[str, Word]:
    found: dict[str, Word] = {}
    for key, name in (("prompt_token_count", "input tokens"), ("output_token_count", "output tokens")):
        found |= _successful(where, key, metrics).words({"total_sum": name})
    return found


def _asked(report: Mapping[str, Any], benchmark: Mapping[str, Any]) -> dict[str, Word]:
    """The load, the model and the data, wherever this version of the report has them."""
    config, earlier = _part(benchmark, "config"), _part(benchmark, "args")
    strategy = _part(config.members, "strategy").members or _part(earlier.members, "strategy").members
    backend = _part(config.members, "backend")
    load = Fields(where="", members=strategy).words(STRATEGY) | backend.words({"model": "model", "request_format": "endpoint"})
    load |= _part(benchmark, "worker").words({"backend_model": "model"})
    spec = _part(_part(report, "config").members, "spec").members
    data = spec.get("data") or _part(_part(report, "config").members, "args").members.get("data") or report.get("args", {}).get("data")
    return load | ({"data": json.dumps(_said(data), sort_keys=True)[:LONGEST]} if data else {})


def _said(raw: Any) -> Any:
    """A description of data without what it leaves open."""
    if isinstance(raw, dict):
        return {key: _said(each) for key, each in raw.items() if each not in (None, {}, [])}
    return [_said(each) for each in raw] if isinstance(raw, list) else raw


def _doubts(totals: Fields) -> list[str]:
    counts = {name: totals.members.get(name) for name in ("errored", "incomplete")}
    bad = [f"{count:,} {name}" for name, count in counts.items() if type(count) is int and count > 0]
    return [f"of its requests, {' and '.join(bad)}; those do not count in its times"] if bad else []


GUIDELLM = Format(name="GuideLLM", trial="one benchmark of a report", recognises=recognises, runs=runs)
