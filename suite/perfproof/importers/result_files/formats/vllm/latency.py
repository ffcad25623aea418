"""`vllm bench latency --output-json`: one process, its batches timed one after another. The batches are no trials."""

from __future__ import annotations

from perfproof.importers.result_files.fields import Fields, refuse
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.records.result_runs import ResultRun


def recognises(source: Source) -> bool:
    """Whether every object has an average, the latencies and their percentiles."""
    found = source.objects
    return bool(found) and all({"avg_latency", "latencies", "percentiles"} <= each.keys() for _, each in found)


def runs(source: Source) -> list[ResultRun]:
    """The runs of a file; raises `BadInput` with every fault."""
    faults: list[str] = []
    found = []
    for where, members in source.objects:
        fields = Fields(where=where, members=members)
        fields.take("avg_latency", "mean_latency", "s", statistic="mean", better="lower")
        inner = Fields(where=f"{where}: percentiles", members=fields.part("percentiles"))
        for key in inner.members:
            inner.take(key, f"p{key}_latency", "s", statistic=f"p{key}", headline=key == "50", better="lower")
        latencies = members["latencies"]
        faults += [*fields.faults, *inner.faults]
        found.append(
            ResultRun(
                source=where,
                values=(*fields.values, *inner.values),
                asked=fields.words({"model_id": "model"}),
                inside=f"{len(latencies)} batches" if isinstance(latencies, list) else "batches",
                left_out=(*fields.left_out, *inner.left_out),
            )
        )
    refuse(faults)
    return found


LATENCY = Format(name="vllm bench latency", trial="one process", recognises=recognises, runs=runs)
