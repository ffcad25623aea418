"""`vllm bench mm-processor --output-json`: one process; its requests are no trials, nor are the stages that each of them goes through."""

from __future__ import annotations

import re

from perfproof.importers.result_files.fields import Fields, refuse, requests_inside
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.base import timestamps
from perfproof.model.records.result_runs import ResultRun

_PERCENTILE = re.compile(r"p(?P<of>[0-9]{1,2}(?:\.[0-9]+)?)")
_STAGE = re.compile(r"(?P<name>[a-z_]+)_(?P<unit>us|ms|s)")


def recognises(source: Source) -> bool:
    """Whether every object has the stages' statistics and an end-to-end latency."""
    found = source.objects
    return bool(found) and all({"mm_processor_stats", "mean_e2el_ms"} <= each.keys() for _, each in found)


def runs(source: Source) -> list[ResultRun]:
    """The runs of a file; raises `BadInput` with every fault."""
    faults: list[str] = []
    found = []
    for where, members in source.objects:
        fields = Fields(where=where, members=members)
        for statistic in ("mean", "median", "std"):
            name = f"{statistic}_e2el"
            fields.take(f"{name}_ms", name, "ms", statistic=statistic, headline=statistic == "median", better="lower")
        fields.take("failed", "failed", "", better="lower")
        _percentiles(fields)
        _stages(fields)
        config = Fields(where=f"{where}: config", members=fields.part("config"))
        load = {"model": "model", "num_prompts": "prompts", "input_len": "input length", "output_len": "output length"}
        completed = fields.number("completed")
        found.append(
            ResultRun(
                source=where,
                values=tuple(fields.values),
                asked=config.words(load),
                done=fields.words({"completed": "completed requests"}),
                at=timestamps.moment(members.get("timestamp")),
                inside=requests_inside(completed),
                left_out=tuple(fields.left_out),
            )
        )
        faults += fields.faults
    refuse(faults)
    return found


def _percentiles(fields: Fields) -> None:
    """Takes the end-to-end percentiles, which are pairs of a percentage and a value."""
    raw = fields.members.get("percentiles_e2el_ms")
    pairs = [each for each in raw if isinstance(each, list) and len(each) == 2] if isinstance(raw, list) else []
    inner = Fields(where=f"{fields.where}: percentiles_e2el_ms", members={f"p{each[0]:g}": each[1] for each in pairs if _real(each[0])})
    for name in inner.members:
        inner.take(name, f"{name}_e2el", "ms", statistic=name, better="lower")
    fields.join(inner)


def _stages(fields: Fields) -> None:
    """Takes the statistics of each stage that took time; those of a stage that never ran are 0 and left out with it."""
    for stage, statistics in fields.part("mm_processor_stats").items():
        matched = _STAGE.fullmatch(stage)
        if matched is None or not isinstance(statistics, dict) or not statistics.get("mean"):
            fields.left_out.append(f"{stage[:60]} of mm_processor_stats is no time of a stage that ran")
            continue
        inner = Fields(where=f"{fields.where}: mm_processor_stats: {stage[:60]}", members=statistics)
        for key in statistics:
            if key in ("mean", "median", "std") or _PERCENTILE.fullmatch(key):
                inner.take(key, f"{_short(key)}_{matched['name']}", matched["unit"], statistic=_short(key), better="lower")
        fields.join(inner, stage[:60])


def _short(statistic: str) -> str:
    """p99.0 as p99."""
    return statistic.removesuffix(".0")


def _real(raw: object) -> bool:
    return isinstance(raw, int | float) and not isinstance(raw, bool) and 0 <= raw <= 100


MM_PROCESSOR = Format(name="vllm bench mm-processor", trial="one process", recognises=recognises, runs=runs)
