"""The one registry of metrics: unit, direction and kind of everything that is ever compared.

A metric may carry a case behind an `@` (`round_time@output_length=16000`): the registry is asked
for the part before it. Values are kept in base units (seconds, bytes, tokens) and scaled when shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

Better = Literal["lower", "higher"]
Kind = Literal["time", "rate", "memory", "witness", "count", "share"]
Part = Literal["greedy_outputs", "sampled_outputs", "text_perplexity", "embeddings"]
"""A way of comparing answers, by the name of its metric: prompts answered greedily, prompts answered by seeded sampling, a text that the
model is led through (teacher-forced), prompts that are embedded."""
PARTS: tuple[Part, ...] = ("greedy_outputs", "sampled_outputs", "text_perplexity", "embeddings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One row of the registry.

    `kind` is `witness` for exact counts of work, which compare exactly; `count` for counts of what the host does, which are exact too and
    have a margin, since a harmless change moves them; and `share` for fractions that are compared by their difference in points (accuracy,
    errors of requests). Everything else is timed.
    `per` says in words what one value is.
    """

    name: str
    unit: str
    better: Better
    kind: Kind
    per: str


def _rows(unit: str, better: Better, kind: Kind, **names: str) -> list[Metric]:
    return [Metric(name=name, unit=unit, better=better, kind=kind, per=per) for name, per in names.items()]


def _latencies() -> dict[str, str]:
    what = {
        "ttft": "time to first token",
        "tpot": "time per output token after the first",
        "itl": "inter-token latency",
        "e2el": "end-to-end latency",
    }
    return {f"{stat}_{short}": f"{stat} {words}" for short, words in what.items() for stat in ("mean", "median", "p90", "p95", "p99")}


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in [
        *_rows(
            "s",
            "lower",
            "time",
            round_time="median round of a trial",
            feed_time="median host time to make what the penalties operation is fed, a round",
            apply_time="median time of the whole penalties step, a round",
            device_time="median device time, a round",
            collection_time="time of Python's garbage collections, a round",
            longest_pause="the longest garbage collection of a round",
            duration="measured part of a serving trial",
            start_time="launch to ready",
            cpu_time_per_token="CPU time of the server's processes per output token",
            cpu_time_per_request="CPU time of the server's processes per request",
            batch_latency="median time of a batch, offline",
            wall_time="a command from its start to its end",
            cpu_time="CPU time of all processes of a command",
            printed_time="a time that a command prints",
            **_latencies(),
        ),
        *_rows("tok/s", "higher", "rate", output_throughput="output tokens", total_token_throughput="input and output tokens"),
        *_rows("req/s", "higher", "rate", request_throughput="requests", request_goodput="requests that met the objective"),
        *_rows(
            "B",
            "lower",
            "memory",
            peak_memory="largest resident memory of all processes of a server or command",
            peak_gpu_memory="most memory in use on the GPUs while measuring",
            printed_bytes="an amount of memory that a command prints",
        ),
        *_rows("1/s", "higher", "rate", printed_rate="a rate that a command prints"),
        *_rows("1", "higher", "rate", printed_more="a number that a command prints, more is better"),
        *_rows("1", "lower", "time", printed_less="a number that a command prints, less is better"),
        *_rows("1", "higher", "memory", kv_blocks="blocks of the server's KV cache"),
        *_rows(
            "1",
            "lower",
            "time",
            instructions_per_token="instructions of the server's processes per output token",
            instructions_per_request="instructions of the server's processes per request",
            instructions="instructions of all processes of a command",
        ),
        *_rows(
            "1",
            "higher",
            "share",
            greedy_outputs="prompts whose greedy answer is the baseline's",
            sampled_outputs="prompts whose answer by seeded sampling is the baseline's",
            embeddings="prompts whose embedding is the baseline's",
            accuracy="items of a task that were answered right",
        ),
        *_rows("1", "lower", "time", normalized_round_time="median round of a trial, over a fixed Python loop timed beside each round"),
        *_rows("1", "lower", "time", text_perplexity="perplexity of a fixed text, teacher-forced"),
        *_rows("1", "lower", "time", full_collections="full garbage collections (generation 2), a round"),
        *_rows("B", "lower", "witness", bytes_per_swap="copied per swap", bytes_allocated_per_step="allocated per step"),
        *_rows(
            "1",
            "lower",
            "witness",
            tokens_compared_per_step="tokens compared per request and step",
            list_elements_converted_per_step="list elements converted per step",
            host_syncs_per_step="device-to-host synchronisations per step",
            token_ids_built_per_step="token ids put into padded tensors per step",
            output_ids_needed="1 if a batch that needs no output ids is handed them",
        ),
        *_rows(
            "1",
            "lower",
            "count",
            python_instructions="Python instructions, a round or step",
            python_calls="Python calls, a round or step",
            c_calls="calls of C functions from Python, a round or step",
            torch_operators="PyTorch operators that ran eagerly, a round or step",
        ),
        *_rows(
            "B",
            "lower",
            "count",
            torch_bytes="results of PyTorch's operators, a round or step",
            bytes_allocated="allocated by Python, a round or step",
        ),
    ]
}


def base_name(name: str) -> str:
    return name.partition("@")[0]


def metric(name: str) -> Metric:
    """The registry's row for a metric, with or without a case; `KeyError` with the near names if there is none."""
    row = METRICS.get(base_name(name))
    if row is None:
        near = get_close_matches(base_name(name), METRICS, n=3)
        raise KeyError(f"unknown metric {base_name(name)!r}" + (f", did you mean {', '.join(near)}?" if near else ""))
    return row


EXACT: frozenset[Kind] = frozenset(["witness", "count"])
"""The kinds of metrics that are counted, not measured: they have no noise."""


def is_timed(name: str) -> bool:
    return metric(name).kind not in EXACT


def is_count(name: str) -> bool:
    """Whether a metric counts what the host does; False for a name that the registry does not know."""
    return base_name(name) in METRICS and METRICS[base_name(name)].kind == "count"


NORMALIZED = "normalized_round_time"
"""The time of a round over that of a fixed loop beside it: what slows the whole machine is not in it."""
OF_ROUNDS = frozenset(
    ["round_time", NORMALIZED, "feed_time", "apply_time", "device_time", "full_collections", "collection_time", "longest_pause"]
)
"""The times that a microbenchmark takes of its rounds; witnesses are its counts."""


OF_COMMANDS = frozenset(["wall_time", "cpu_time", "peak_memory", "instructions"])
"""What is measured of every command's processes."""
PRINTED = frozenset(["printed_time", "printed_bytes", "printed_rate", "printed_more", "printed_less"])
"""What a command prints, by unit and direction; its own name is the case."""
ACCURACY = "accuracy"
"""What is compared of scored answers, task by task."""
ANSWERS = frozenset(PARTS)
"""What is compared of answers bit by bit."""


def of_a_run(name: str) -> bool:
    """Whether a run of a whole vLLM, a server or not, can leave the metric: none of a round, no count of a microbenchmark, no answers."""
    row = metric(name)
    return (
        "@" not in name
        and row.name not in {*OF_ROUNDS, *ANSWERS, *PRINTED, "wall_time", "cpu_time", "instructions", ACCURACY}
        and row.kind not in EXACT
    )


def of_rounds(name: str) -> bool:
    """Whether the rounds of a benchmark can leave the metric, of any of its cases: a time of a round, or an exact count."""
    row = metric(name)
    return row.name in OF_ROUNDS or row.kind in EXACT
