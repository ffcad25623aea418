"""What other tools ask of the files that they take, in our own words; each function names its source and returns the faults."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any


def _number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def of_github_action(entries: Any) -> Iterator[str]:
    """benchmark-action/github-action-benchmark, README "Custom benchmarks" and src/extract.ts.

    A list with at least one entry; each has a name, a unit and a number; range and extra are texts where they are there. The history finds
    an entry's earlier values by its name, so no name stands twice.
    """
    if not isinstance(entries, list) or not entries:
        yield "no list with an entry"
        return
    for entry in entries:
        if not (isinstance(entry.get("name"), str) and entry["name"].strip() and isinstance(entry.get("unit"), str)):
            yield f"no name or unit: {entry}"
        if not _number(entry.get("value")):
            yield f"no number: {entry}"
        if any(not isinstance(entry.get(key, ""), str) for key in ("range", "extra")):
            yield f"range or extra is no text: {entry}"
        if entry.keys() - {"name", "unit", "value", "range", "extra"}:
            yield f"unknown keys: {entry}"
    names = [entry.get("name") for entry in entries]
    if len(set(names)) < len(names):
        yield "a name stands twice"


PARTS: dict[str, dict[str, type]] = {
    "benchmark": {"name": str, "mode": str, "dtype": str, "extra_info": dict},
    "model": {"name": str, "type": str, "backend": str, "origins": list, "extra_info": dict},
    "metric": {"name": str, "benchmark_values": list, "extra_info": dict},
}
RUNNER: dict[str, type] = {
    **dict.fromkeys(("name", "type", "cpu_info", "mem_info", "gpu_info", "gpu_mem_info"), str),
    **dict.fromkeys(("cpu_count", "avail_mem_in_gb", "gpu_count", "avail_gpu_mem_in_gb"), int),
    "extra_info": dict,
}
WORKFLOW = {"repo", "head_branch", "head_sha", "workflow_id", "run_attempt", "job_id"}


def of_pytorch_hud(rows: Any) -> Iterator[str]:
    """pytorch/test-infra, clickhouse_db_schema/oss_ci_benchmark_v3/schema.sql and .github/scripts/upload_benchmark_results.py.

    A list of objects; without a metric a row is passed over. Values are a list of finite numbers, moments and counts unsigned integers,
    extra_info maps texts to texts. What the row says itself wins over what the workflow knows.
    """
    if not isinstance(rows, list) or not rows:
        yield "no list with a row"
        return
    for row in rows:
        if row.get("schema_version") != "v3" or type(row.get("timestamp")) is not int or row["timestamp"] < 0:
            yield "schema_version or timestamp"
        if row.keys() & WORKFLOW:
            yield "says what the workflow knows better"
        for name, fields in PARTS.items():
            yield from (f"{name}.{key}" for key, kind in fields.items() if type(row[name].get(key)) is not kind)
            yield from _extra(row[name])
        if not row["metric"]["benchmark_values"] or not all(map(_number, row["metric"]["benchmark_values"])):
            yield "benchmark_values"
        for runner in row["runners"]:
            yield from (f"runners.{key}" for key, value in runner.items() if key not in RUNNER or type(value) is not RUNNER[key])
            yield from _extra(runner)
        for each in row["dependencies"].values():
            yield from (f"dependencies.{key}" for key in ("repo", "branch", "sha", "version") if type(each.get(key)) is not str)


def _extra(part: dict[str, Any]) -> Iterator[str]:
    yield from (f"extra_info.{key}" for key, value in part["extra_info"].items() if type(key) is not str or type(value) is not str)


def of_perf_eval(row: Any) -> Iterator[str]:
    """vllm-project/perf-eval, lib/ingest_perf.py.

    A row says where and how it was measured; throughputs are those of one GPU, input and output make the whole; times are seconds, and an
    interactivity is one over its time a token.
    """
    texts = ("device", "image", "model", "framework", "precision", "spec_decoding", "disagg", "is_multinode", "dp_attention", "date")
    yield from (key for key in texts if type(row.get(key)) is not str or not row[key])
    yield from (key for key in ("spec_decoding", "disagg", "is_multinode", "dp_attention") if row[key] not in ("true", "false"))
    yield from (key for key in ("conc", "isl", "osl", "tp", "ep") if type(row.get(key)) is not int or row[key] < 1)
    if not math.isclose(row["input_tput_per_gpu"] + row["output_tput_per_gpu"], row["tput_per_gpu"]):
        yield "throughputs"
    for key, value in row.items():
        if key.endswith("_tpot") and not math.isclose(row[key.replace("tpot", "intvty")] * value, 1):
            yield key
        if key.endswith(("_ms", "_s")):
            yield f"{key}: no key of a row"
