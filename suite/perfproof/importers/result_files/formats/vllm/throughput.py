"""`vllm bench throughput --output-json`: one process, all its requests at once."""

from __future__ import annotations

from perfproof.importers.result_files.fields import Fields, refuse
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.records.result_runs import ResultRun

NEEDED = ("elapsed_time", "num_requests", "requests_per_second")


def recognises(source: Source) -> bool:
    """Whether every object has what this benchmark writes."""
    found = source.objects
    return bool(found) and all(set(NEEDED) <= each.keys() for _, each in found)


def runs(source: Source) -> list[ResultRun]:
    """The runs of a file; raises `BadInput` with every fault."""
    faults: list[str] = []
    found = []
    for where, members in source.objects:
        fields = Fields(where=where, members=members)
        fields.take("tokens_per_second", "total_token_throughput", "tok/s", headline=True)
        fields.take("requests_per_second", "request_throughput", "req/s", headline="tokens_per_second" not in members)
        fields.take("elapsed_time", "duration", "s")
        faults += fields.faults
        found.append(
            ResultRun(
                source=where,
                values=tuple(fields.values),
                asked=fields.words({"model_id": "model", "num_requests": "prompts"}),
                done=fields.words({"total_num_tokens": "tokens"}),
                inside=f"{members['num_requests']} requests",
                left_out=tuple(fields.left_out),
            )
        )
    refuse(faults)
    return found


THROUGHPUT = Format(name="vllm bench throughput", trial="one process", recognises=recognises, runs=runs)
