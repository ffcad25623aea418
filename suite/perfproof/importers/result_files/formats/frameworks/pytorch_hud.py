"""Rows of PyTorch's benchmark database, schema v3, in a file: an object a metric, whose `benchmark_values` are what one run left.

vLLM's benchmarks write the batches of one process there, which are no trials: their median is taken. In what perfproof exported each value
is a trial.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import median
from typing import Any

from perfproof.importers.result_files.fields import Fields, refuse, with_values
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.base import strict_json, timestamps
from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.records.result_runs import ResultRun, Word
from perfproof.model.scenarios import metric_directions
from perfproof.model.scenarios.metrics import Better

ASKED = (
    *("request_rate", "max_concurrency", "num_prompts", "burstiness", "dataset_name", "random_input_len", "random_output_len"),
    *("input_len", "output_len", "batch_size", "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "quantization"),
    *("max_model_len", "enforce_eager"),
)
OURS = "perfproof"


def recognises(source: Source) -> bool:
    """Whether every object has a benchmark and a metric with values."""
    found = source.objects
    return bool(found) and all(isinstance(each.get("metric"), dict) and "benchmark_values" in each["metric"] for _, each in found)


def runs(source: Source) -> list[ResultRun]:
    """A run a benchmark, or a run a trial where perfproof wrote it; raises `BadInput` with every fault."""
    faults: list[str] = []
    rows: dict[str, list[tuple[Fields, list[float], Mapping[str, Any]]]] = {}
    for where, row in source.objects:
        fields = Fields(where=where, members=row["metric"])
        values = fields.numbers("benchmark_values")
        if not isinstance(fields.members.get("name"), str) or not fields.members["name"].strip():
            fields.faults.append(f"{where}: metric: name: expected a text")
        faults += fields.faults
        rows.setdefault(_benchmark(row), []).append((fields, values, row))
    for name, own in rows.items():
        arms = list(dict.fromkeys(_text(_part(_part(row, "benchmark"), "extra_info"), "arm") for _, _, row in own))
        if len(arms) > 1:
            faults.append(f"{source.path}: {name} has the arms {few(arms, 4)}: write one arm a file (perfproof export --arm)")
        seen = [_text(row["metric"], "name") for _, _, row in own]
        twice = [metric for metric in dict.fromkeys(seen) if seen.count(metric) > 1]
        if twice and len(arms) < 2:
            faults.append(f"{source.path}: {few(twice, 4)} of {name} is there twice: keep one")
    refuse(faults)
    return with_values([run for name, own in rows.items() for run in _of_benchmark(name, own)], str(source.path))


def _of_benchmark(name: str, rows: list[tuple[Fields, list[float], Mapping[str, Any]]]) -> list[ResultRun]:
    ours = all(row.get("name") == OURS for _, _, row in rows)
    count = max((len(values) for _, values, _ in rows), default=0) if ours else 1
    found = []
    for at in range(max(count, 1)):
        left: list[str] = []
        inside: list[int] = []
        taken: list[Any] = []
        for fields, values, row in rows:
            whole = Fields(where=fields.where, members=fields.members, left_out=list(fields.left_out) if not at else [])
            metric, unit = _metric(row["metric"])
            value = (values[at] if at < len(values) else None) if ours else median(values) if values else None
            if value is None and not ours:
                whole.left_out.append(f"{metric}: has no value")
            elif value is not None:
                spread = metric.startswith("std_")
                better = None if spread else _better(row["metric"], metric, unit)
                statistic = "std" if spread else ""
                whole.take(metric, metric, unit, statistic=statistic, value=value, headline=better is not None, better=better)
            inside.append(len(values))
            taken += whole.values
            left += whole.left_out
        first = rows[0][2]
        several = max(inside, default=0)
        found.append(
            ResultRun(
                source=f"{rows[0][0].where}, trial {at + 1}" if ours else rows[0][0].where,
                values=tuple(taken),
                benchmark=name,
                asked=_asked(first),
                setting=_setting(first),
                at=None if ours else timestamps.epoch(first.get("timestamp")),
                inside=f"{several} values" if several > 1 and not ours else "",
                left_out=tuple(left),
            )
        )
    return found


def _metric(members: Mapping[str, Any]) -> tuple[str, str]:
    """A metric's name and its unit: vLLM's have it in their names."""
    name = line(members.get("name"), 200)
    unit = _text(_part(members, "extra_info"), "unit")
    return (name.removesuffix("_ms"), "ms") if not unit and name.endswith("_ms") else (name, unit)


def _better(members: Mapping[str, Any], name: str, unit: str) -> Better | None:
    said: Mapping[str, Better] = {"lower": "lower", "higher": "higher"}
    return said.get(_text(_part(members, "extra_info"), "better")) or metric_directions.better(f"{name} ({unit})" if unit else name)


def _benchmark(row: Mapping[str, Any]) -> str:
    names = [_text(_part(row, "benchmark"), "name"), _text(_part(row, "model"), "name")]
    return ", ".join(dict.fromkeys(each for each in names if each))


def _asked(row: Mapping[str, Any]) -> dict[str, Word]:
    """What the run was asked: vLLM's arguments, as an object, or as the text that the database keeps of it."""
    extra = _part(_part(row, "benchmark"), "extra_info")
    raw = extra.get("args")
    try:
        told = json.loads(raw, object_pairs_hook=strict_json.once) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        told = {}
    said = {**extra, **(told if isinstance(told, dict) else {})}
    fields = Fields(where="", members={"dtype": _part(row, "benchmark").get("dtype"), **said})
    return {name: word for name, word in fields.words({key: key for key in ("dtype", *ASKED)}).items() if word != ""}


def _setting(row: Mapping[str, Any]) -> dict[str, Word]:
    vllm = _part(_part(row, "dependencies"), "vllm")
    runners = row.get("runners")
    first = runners[0] if isinstance(runners, list) and runners and isinstance(runners[0], dict) else {}
    found = {"vllm": _text(vllm, "version"), "commit": _text(vllm, "sha") or _text(row, "head_sha"), "machine": _text(first, "type")}
    found["arm"] = _text(_part(_part(row, "benchmark"), "extra_info"), "arm")
    return {name: word for name, word in found.items() if word}


def _text(members: Mapping[str, Any], key: str) -> str:
    raw = members.get(key)
    return line(raw, 200) if isinstance(raw, str) else ""


def _part(members: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    raw = members.get(key)
    return raw if isinstance(raw, dict) else {}


PYTORCH_HUD = Format(
    name="PyTorch's benchmark database (v3 rows)",
    trial="one file, or one value of what perfproof exported",
    recognises=recognises,
    runs=runs,
)
