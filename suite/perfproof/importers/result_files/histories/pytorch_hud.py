"""Rows of PyTorch's benchmark database, schema v3: an object a metric, whose `benchmark_values` are the runs.

A series is what was measured and how it was asked; of the arguments that vLLM's benchmarks put beside a row, only those of the load and
the engine tell series apart, for others (paths, ports, seeds) are new in every run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from perfproof.importers.result_files.fields import Fields
from perfproof.importers.result_files.histories.format import Found, HistoryFormat, of_rows, part, word
from perfproof.importers.result_files.source import Source
from perfproof.model.base import strict_json, timestamps
from perfproof.model.base.untrusted import line
from perfproof.model.history.foreign_points import ForeignPoint
from perfproof.model.scenarios import metric_directions
from perfproof.model.scenarios.metrics import Better

ASKED = (
    *("request_rate", "max_concurrency", "num_prompts", "burstiness", "dataset_name", "random_input_len", "random_output_len"),
    *("sharegpt_output_len", "input_len", "output_len", "batch_size", "backend", "tensor_parallel_size", "pipeline_parallel_size"),
    *(
        "data_parallel_size",
        "quantization",
        "max_model_len",
        "enforce_eager",
        "use_compile",
        "optimization_level",
        "compilation_config.mode",
    ),
)
SHORT = 12


def recognises(source: Source) -> bool:
    """Whether every object has a benchmark and a metric with values."""
    found = source.objects
    return bool(found) and all(isinstance(each.get("metric"), dict) and "benchmark_values" in each["metric"] for _, each in found)


def points(source: Source) -> Found:
    """A point a row."""
    return of_rows(source, _row)


def _row(where: str, row: Mapping[str, Any], found: Found) -> None:
    metric, benchmark, model = row["metric"], part(row, "benchmark"), part(row, "model")
    name = word(metric, "name")
    fields = Fields(where=where, members=metric)
    values = fields.numbers("benchmark_values")
    found.take(fields)
    build, version = _build(row)
    at = timestamps.epoch(row.get("timestamp"))
    lacks = [what for what, there in (("metric.name", name), ("benchmark.name", word(benchmark, "name"))) if not there]
    if lacks:
        found.faults.append(f"{where}: {lacks[0]}: expected a text")
    elif at is None or not build:
        found.faults.append(
            f"{where}: has no {'timestamp' if at is None else 'commit, version or build'}, so its place in the history is unknown"
        )
    elif not values:
        found.notes.append(f"{where}: {name}: has no value, and is left out")
    else:
        extra = part(metric, "extra_info")
        found.points.append(
            ForeignPoint(
                scenario=_scenario(row, benchmark, model),
                metric=name,
                arm=word(part(benchmark, "extra_info"), "arm"),
                machine=_machine(row),
                build=build,
                version=version,
                unit=word(extra, "unit", 40) or ("ms" if name.endswith("_ms") else ""),
                better=_better(word(extra, "better"), name),
                values=tuple(values),
                at=at,
                where=where,
            )
        )


def _scenario(row: Mapping[str, Any], benchmark: Mapping[str, Any], model: Mapping[str, Any]) -> str:
    """The benchmark, its model, and how it was asked: "vLLM benchmark, opt-125m, request_rate inf"."""
    said = {**part(part(row, "metric"), "extra_info"), **part(benchmark, "extra_info"), **_arguments(benchmark)}
    names = [word(benchmark, "name"), word(model, "name"), word(benchmark, "dtype"), word(model, "backend")]
    asked = [f"{key} {line(said[key], 60)}" for key in ASKED if isinstance(said.get(key), str | int | float)]
    return ", ".join(dict.fromkeys(each for each in [*names, *asked] if each))


def _arguments(benchmark: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of vLLM's benchmark: an object as it writes them, a text as the database keeps them."""
    raw = part(benchmark, "extra_info").get("args")
    try:
        found = json.loads(raw, object_pairs_hook=strict_json.once) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _machine(row: Mapping[str, Any]) -> str:
    """The runners' types, with how many GPUs each has."""
    runners = row.get("runners")
    each = [runner for runner in runners if isinstance(runner, dict)] if isinstance(runners, list) else []
    types = [word(one, "type") or word(one, "gpu_info") or word(one, "cpu_info") or word(one, "name") for one in each]
    counts = [one.get("gpu_count") for one in each]
    told = [f"{count} x {name}" if type(count) is int and count > 1 else name for name, count in zip(types, counts, strict=True)]
    return ", ".join(dict.fromkeys(filter(None, told)))


def _build(row: Mapping[str, Any]) -> tuple[str, str]:
    """The label of what was measured, and vLLM's version: the commit, else that of the dependency, else a build in words."""
    vllm = part(part(row, "dependencies"), "vllm")
    version = word(vllm, "version", 80)
    own = word(part(part(row, "benchmark"), "extra_info"), "build")
    return (word(row, "head_sha", 80) or word(vllm, "sha", 80))[:SHORT] or own or version, version


def _better(said: str, name: str) -> Better | None:
    sides: Mapping[str, Better] = {"lower": "lower", "higher": "higher"}
    return sides.get(said) or metric_directions.better(name.removesuffix("_ms"))


PYTORCH_HUD = HistoryFormat(name="PyTorch's benchmark database (v3)", recognises=recognises, points=points)
