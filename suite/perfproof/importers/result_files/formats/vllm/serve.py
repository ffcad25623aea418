"""`vllm bench serve --save-result` (0.6, as benchmark_serving.py, to 0.32): one object a run, or one a line with --append-result.

One file or line is one trial: all its requests went to one server, in one run of the client. A sweep's summary is a list of such objects,
each with its `run_number` and with the options that the sweep changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from perfproof.importers.result_files.fields import Fields, refuse, run_of_client
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.records.result_runs import ResultRun, Word
from perfproof.model.scenarios.metric_directions import word_set

NEEDED = ("model_id", "duration", "completed", "request_throughput")
FIGURES = (
    ("request_throughput", "req/s"),
    ("output_throughput", "tok/s"),
    ("total_token_throughput", "tok/s"),
    ("request_goodput", "req/s"),
    ("request_goodput:", "req/s"),
    ("input_throughput", "tok/s"),
    ("input_sequence_throughput", "inputs/s"),
    ("max_output_tokens_per_s", "tok/s"),
    ("diffusion_committed_throughput", "tok/s"),
)
"""Figures of the whole run; `request_goodput:` is how 0.6.3 and its successors spelt it."""
ASKED = {
    "model_id": "model",
    "tokenizer_id": "tokenizer",
    "backend": "backend",
    "num_prompts": "prompts",
    "request_rate": "request rate",
    "burstiness": "burstiness",
    "max_concurrency": "concurrency",
    "best_of": "best of",
    "use_beam_search": "beam search",
    "ramp_up_strategy": "ramp-up",
    "ramp_up_start_rps": "ramp-up from",
    "ramp_up_end_rps": "ramp-up to",
}
DONE = {"completed": "completed requests", "total_input_tokens": "input tokens", "total_output_tokens": "output tokens"}
PASSED_OVER = word_set(
    "date endpoint_type label failed duration run_number rtfx max_concurrent_requests total_input_sequences rps_change_events "
    "input_lens output_lens ttfts itls latencies queue_times start_times generated_texts errors"
)
WARMUP = -1
HEADLINES = ("output_throughput", "median_ttft", "median_tpot")
POOLING_HEADLINES = ("request_throughput", "median_e2el")
_STATISTIC = re.compile(r"(?:probe_)?(?P<statistic>mean|median|std|p[0-9]{1,3}(?:\.[0-9]+)?|max)_[a-z0-9_]+_ms")
_NO_OPTION = re.compile(r"(probe_)?(mean|median|std|p[0-9.]+|max)_.*_ms|spec_decode_.*|diffusion_.*|probe_(completed|failed)")
"""Keys that are neither an option of a sweep nor of --metadata: statistics, and counts of drafts, canvases and probes."""


def recognises(source: Source) -> bool:
    """Whether every object has what this benchmark writes, and nothing that only SGLang's writes."""
    found = source.objects
    return bool(found) and all(set(NEEDED) <= each.keys() and "mean_e2e_latency_ms" not in each for _, each in found)


def runs(source: Source) -> list[ResultRun]:
    """The runs of a file; raises `BadInput` with every fault."""
    faults: list[str] = []
    found = [run_of(where, each, faults) for where, each in source.objects]
    refuse(faults)
    return [run for run in found if run is not None]


def run_of(where: str, members: Mapping[str, Any], faults: list[str]) -> ResultRun | None:
    """One object as a run; its faults are added. None for a sweep's warm-up, whose number is -1."""
    if members.get("run_number") == WARMUP:
        return None
    fields = Fields(where=where, members=members)
    pooling = "input_sequence_throughput" in members or "total_output_tokens" not in members
    headlines = POOLING_HEADLINES if pooling else HEADLINES
    for key, unit in FIGURES:
        name = key.rstrip(":")
        fields.take(key, name, unit, headline=name in headlines, better="higher")
    fields.take("failed", "failed", "", better="lower")
    fields.take("spec_decode_acceptance_rate", "spec_decode_acceptance_rate", "%", better="higher")
    fields.take("spec_decode_acceptance_length", "spec_decode_acceptance_length", "", better="higher")
    fields.take_latencies(_STATISTIC, headlines)
    done = fields.words(DONE)
    load, setting = _asked(fields)
    faults += fields.faults
    return run_of_client(fields, load, done, setting, moment(members.get("date")), _doubts(fields))


def _asked(fields: Fields) -> tuple[dict[str, Word], dict[str, Word]]:
    """What was asked, and the setting: a sweep's changed options are asked, texts of --metadata are the setting."""
    load = fields.words(ASKED)
    if fields.members.get("max_concurrency", "") is None:
        load["concurrency"] = "no limit"
    known = {*NEEDED, *ASKED, *DONE, *PASSED_OVER, *(key for key, _ in FIGURES)}
    other = [key for key in fields.members if key not in known and not _NO_OPTION.fullmatch(key)]
    words = fields.words({key: key for key in other})
    if "run_number" in fields.members:
        return load | words, {}
    fields.leave_unread({*fields.members} - {*other})
    return load, {name: word for name, word in words.items() if isinstance(word, str)}


def _doubts(fields: Fields) -> list[str]:
    prompts, completed = fields.number("num_prompts"), fields.number("completed")
    if prompts is None or completed is None or completed == prompts:
        return []
    return [f"{completed:g} of {prompts:g} requests were completed; the rest failed, and does not count in its times"]


def moment(raw: Any) -> float | None:
    """20260131-120000, the client's own clock; None for what is no date."""
    try:
        return datetime.strptime(raw, "%Y%m%d-%H%M%S").replace(tzinfo=UTC).timestamp() if isinstance(raw, str) else None
    except ValueError:
        return None


SERVE = Format(name="vllm bench serve", trial="one run of the client", recognises=recognises, runs=runs)
