"""`profile_export_aiperf.json` of AIPerf, and `profile_export_genai_perf.json`, whose layout it keeps: one object, one run of the client.

Each metric is an object with its unit and statistics of the requests, or an average alone where it is a figure of the whole run. The
inter-token latency of a request is what vLLM calls time per output token. Aggregates of several runs are not read: name the runs' files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from perfproof.importers.result_files.fields import Fields, refuse
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.base import timestamps
from perfproof.model.base.number_range import is_number
from perfproof.model.records.result_runs import ResultRun, Word
from perfproof.model.scenarios.metric_directions import word_set

FIGURES = ("request_throughput", "output_token_throughput", "total_token_throughput", "input_token_throughput", "goodput")
OF_REQUESTS = (
    "request_latency",
    "time_to_first_token",
    "time_to_second_token",
    "time_to_first_output_token",
    "inter_token_latency",
    "inter_chunk_latency",
    "output_token_throughput_per_user",
)
FAILURES = {"request_error_rate": "request_error_rate", "error_request_count": "failed"}
STATISTICS = {"avg": "mean", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "std": "std"}
PASSED_OVER = word_set(
    "request_count completed_request_count input_sequence_length output_sequence_length output_token_count total_output_tokens "
    "total_isl total_osl benchmark_duration"
)
HEADLINES = ("output_token_throughput", "p50_time_to_first_token", "p50_inter_token_latency")
UNITS = {
    "requests/sec": "req/s",
    "requests/s": "req/s",
    "tokens/sec": "tok/s",
    "tokens/s": "tok/s",
    "tokens/sec/user": "tok/s/user",
    "sec": "s",
    "requests": "",
    "count": "",
}
DONE = (
    ("request_count", "avg", "requests"),
    ("input_sequence_length", "sum", "input tokens"),
    ("output_sequence_length", "sum", "output tokens"),
)
PATHS = {
    **dict.fromkeys(("models.items.name", "endpoint.model_names", "model_names", "model"), "model"),
    **dict.fromkeys(("phases.concurrency", "loadgen.concurrency", "stimulus.concurrency", "concurrency"), "concurrency"),
    **dict.fromkeys(
        ("phases.rate", "phases.request_rate", "loadgen.request_rate", "stimulus.request_rate", "request_rate"), "request rate"
    ),
    **dict.fromkeys(("phases.requests", "loadgen.request_count", "request_count"), "requests"),
    **dict.fromkeys(("datasets.prompts.isl.mean", "input.prompt.input_tokens.mean", "synthetic_input_tokens_mean"), "input length"),
    **dict.fromkeys(("datasets.prompts.osl.mean", "input.prompt.output_tokens.mean", "output_tokens_mean"), "output length"),
    **dict.fromkeys(("endpoint.type", "endpoint_type"), "endpoint"),
    **dict.fromkeys(("endpoint.streaming", "streaming"), "streaming"),
}
"""Where `input_config` says what was asked: of AIPerf 0.13, of earlier ones, and of genai-perf."""
DEEPEST = 6


def recognises(source: Source) -> bool:
    """Whether it is one object whose latency of requests has a unit and an average."""
    found = source.objects
    return len(found) == 1 and _measured(found[0][1].get("request_latency"))


def _measured(raw: Any) -> bool:
    return isinstance(raw, dict) and {"unit", "avg"} <= raw.keys()


def runs(source: Source) -> list[ResultRun]:
    """The run of a file; raises `BadInput` with every fault."""
    where, members = source.objects[0]
    whole = Fields(where=where, members=members)
    for name in (*FIGURES, *FAILURES):
        if _measured(members.get(name)):
            own = Fields(where=f"{where}: {name}", members=members[name])
            way: Literal["lower", "derive"] = "lower" if name in FAILURES else "derive"
            own.take("avg", FAILURES.get(name, name), _unit(own), headline=name in HEADLINES, better=way)
            whole.join(own, name)
    for name in OF_REQUESTS:
        if _measured(members.get(name)):
            own = Fields(where=f"{where}: {name}", members=members[name])
            for key, statistic in STATISTICS.items():
                called = f"{statistic}_{name}"
                own.take(key, called, _unit(own), statistic=statistic, headline=called in HEADLINES)
            whole.join(own, name)
    whole.leave_unread({*FIGURES, *FAILURES, *OF_REQUESTS, *PASSED_OVER})
    done = {name: word for key, statistic, name in DONE if (word := _word(members.get(key), statistic)) is not None}
    refuse(whole.faults)
    return [
        ResultRun(
            source=where,
            values=tuple(whole.values),
            asked=_asked(members.get("input_config")),
            done=done,
            setting=whole.words({"aiperf_version": "AIPerf"}),
            at=timestamps.moment(members.get("end_time")) or timestamps.moment(members.get("start_time")),
            inside=f"{done['requests']:g} requests" if "requests" in done else "requests",
            left_out=tuple(whole.left_out),
            doubts=tuple(_doubts(members)),
        )
    ]


def _unit(own: Fields) -> str:
    raw = own.members["unit"]
    if not isinstance(raw, str):
        own.faults.append(f"{own.where}: unit: expected a text")
        return ""
    return UNITS.get(raw, raw[:20])


def _word(raw: Any, statistic: str) -> float | None:
    value = raw.get(statistic) if isinstance(raw, dict) else None
    return float(value) if isinstance(value, int | float) and is_number(value) else None


def _asked(config: Any) -> dict[str, Word]:
    found: dict[str, list[str]] = {}
    for path, value in _leaves(config, ""):
        if path in PATHS:
            found.setdefault(PATHS[path], []).append(value)
    return {name: ", ".join(dict.fromkeys(values)) for name, values in found.items()}


def _leaves(raw: Any, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text, number and truth value below, with the keys that lead there; places in lists are no keys."""
    if depth > DEEPEST:
        return
    if isinstance(raw, dict):
        for key, value in raw.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(raw, list):
        for value in raw:
            yield from _leaves(value, path, depth + 1)
    elif isinstance(raw, bool | str):
        yield path, str(raw)[:200]
    elif isinstance(raw, int | float):
        yield path, f"{raw:g}"


def _doubts(members: Mapping[str, Any]) -> Iterator[str]:
    if members.get("was_cancelled") is True:
        yield "the run was cancelled"
    if members.get("is_complete") is False:
        yield "the run did not finish"


AIPERF = Format(name="AIPerf or genai-perf (JSON)", trial="one run of the client", recognises=recognises, runs=runs)
