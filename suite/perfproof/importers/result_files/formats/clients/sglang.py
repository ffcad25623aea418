"""`python -m sglang.bench_serving --output-file`: one object a line, one line a run of the client. Its requests are no trials."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from perfproof.importers.result_files.fields import Fields, refuse, run_of_client
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.base import timestamps
from perfproof.model.records.result_runs import ResultRun, Word
from perfproof.model.scenarios.metric_directions import word_set

NEEDED = ("backend", "request_throughput", "completed", "mean_e2e_latency_ms")
FIGURES = (
    ("request_throughput", "req/s"),
    ("input_throughput", "tok/s"),
    ("output_throughput", "tok/s"),
    ("output_throughput_retokenized", "tok/s"),
    ("total_throughput", "tok/s"),
    ("total_throughput_retokenized", "tok/s"),
    ("max_output_tokens_per_s", "tok/s"),
)
ASKED = {
    "backend": "backend",
    "dataset_name": "dataset",
    "num_prompts": "prompts",
    "request_rate": "request rate",
    "max_concurrency": "concurrency",
    "sharegpt_output_len": "output length (ShareGPT)",
    "fixed_output_len": "output length",
    "random_input_len": "input length (random)",
    "random_output_len": "output length (random)",
    "random_range_ratio": "range ratio (random)",
}
DONE = {"completed": "completed requests", "total_input_tokens": "input tokens", "total_output_tokens": "output tokens"}
SERVER = {
    "model_path": "model",
    "version": "SGLang",
    "tp_size": "tensor parallel",
    "dp_size": "data parallel",
    "pp_size": "pipeline parallel",
    "attention_backend": "attention backend",
    "quantization": "quantization",
    "kv_cache_dtype": "KV cache type",
}
"""What `server_info` says of the server."""
PASSED_OVER = word_set(
    "tag server_info accept_length duration concurrency failed num_processes arrival_seed benchmark_start_time benchmark_end_time "
    "total_input_text_tokens total_input_vision_tokens total_output_tokens_retokenized"
)
HEADLINES = ("output_throughput", "median_ttft", "median_tpot")
_STATISTIC = re.compile(r"(?P<statistic>mean|median|std|max|p[0-9]{1,3}(?:\.[0-9]+)?)_(?:e2e_latency|ttft|tpot|itl)_ms")


def recognises(source: Source) -> bool:
    """Whether every object has what this client writes; vLLM's own, from which it descends, names its latencies otherwise."""
    found = source.objects
    return bool(found) and all(set(NEEDED) <= each.keys() for _, each in found)


def runs(source: Source) -> list[ResultRun]:
    """The lines as runs; raises `BadInput` with every fault."""
    faults: list[str] = []
    found = [_run(where, members, faults) for where, members in source.objects]
    refuse(faults)
    return found


def _run(where: str, members: Mapping[str, Any], faults: list[str]) -> ResultRun:
    fields = Fields(where=where, members=members)
    for key, unit in FIGURES:
        fields.take(key, key, unit, headline=key in HEADLINES, better="higher")
    fields.take("accept_length", "accept_length", "", better="higher")
    latencies = fields.take_latencies(_STATISTIC, HEADLINES)
    load, setting = _asked(fields)
    done = fields.words(DONE)
    fields.leave_unread({*(key for key, _ in FIGURES), *ASKED, *DONE, *PASSED_OVER, *latencies})
    completed = fields.number("completed")
    prompts = fields.number("num_prompts")
    doubts = [f"{completed:g} of {prompts:g} requests were completed"] if prompts and completed is not None and completed < prompts else []
    faults += fields.faults
    return run_of_client(fields, load, done, setting, timestamps.epoch(fields.members.get("benchmark_end_time")), doubts)


def _asked(fields: Fields) -> tuple[dict[str, Word], dict[str, Word]]:
    """What was asked, and the setting: the model is asked, the rest of `server_info` is the setting."""
    server = fields.members.get("server_info")
    setting = Fields(where=fields.where, members=server).words(SERVER) if isinstance(server, dict) else {}
    model = {"model": setting.pop("model")} if "model" in setting else {}
    return fields.words(ASKED) | model, setting | fields.words({"tag": "tag"})


SGLANG = Format(name="SGLang bench_serving", trial="one run of the client", recognises=recognises, runs=runs)
