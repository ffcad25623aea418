"""Swaps two rows of the V1 batch, as backends that reorder the batch do (vLLM #34731, #34733).

The workload is that pull request's own: 512 requests whose rows hold 512 to 2,048 of 32,768 tokens,
a new batch for every run, 1,000 exchanges of two random rows. Run r is seeded with `seed + r`
and draws its pairs from `seed + r + 17`; the warm-up runs are seeded with `seed - 1` and stop after
500 exchanges. One round is one run; the figure is seconds per round.

`speculative_tokens` gives every row that many draft tokens (the author's rows hold none). `reorders`
other than 0 lets vLLM exchange the rows itself, as its runner does: that many times a round, every
request is scheduled for one token or for `CHUNK` at random, and the batch is put in order.

Before the clock starts every page of the rows is written once (`touch`): the exchange moves each
row's prefix into rows that were never that long, and a page's first use costs more than copying it.
"""

from __future__ import annotations

import random
import zlib
from types import SimpleNamespace
from typing import Any

import numpy as np

from perfproof.bench import adapter
from perfproof.bench.meter import Meter
from perfproof.bench.rounds import time_rounds

PARAMETERS = {
    "requests": 512,
    "max_model_len": 32_768,
    "shortest": 512,
    "longest": 2_048,
    "swaps": 1_000,
    "speculative_tokens": 0,
    "reorders": 0,
    "vocab_size": 32_000,
    "block_size": 16,
    "touch": True,
    "seed": 7,
    "rounds": 5,
    "warmup_rounds": 1,
}
LEAST = {"requests": 2}
EXERCISES = (
    "vllm.v1.worker.gpu_input_batch:InputBatch.swap_states",
    "vllm.v1.attention.backends.utils:reorder_batch_to_split_decodes_and_prefills",
)
TIMES = ("round_time",)
WITNESSES = ("bytes_per_swap",)
COUNT_AT = {"requests": 16, "swaps": 20, "reorders": 2}

REORDER = "vllm.v1.attention.backends.utils:reorder_batch_to_split_decodes_and_prefills"
CHUNK = 64
OUTPUT = 8
"""Generated tokens of every row; the rest is its prompt."""


def build(parameters: dict[str, Any], seed: int) -> Any:
    """A full batch: rows of `shortest` to `longest` tokens, drawn by `random.Random(seed)`."""
    p, rng = parameters, random.Random(seed)
    spec = p["speculative_tokens"]
    batch = adapter.input_batch(
        max_num_reqs=p["requests"],
        max_model_len=p["max_model_len"],
        max_num_batched_tokens=p["requests"] * p["longest"],
        vocab_size=p["vocab_size"],
        block_size=p["block_size"],
        num_spec_tokens=spec,
    )
    for n in range(p["requests"]):
        active = rng.randint(p["shortest"], p["longest"])
        tokens = [rng.randrange(p["vocab_size"]) for _ in range(active + spec)]
        prompt, output = tokens[: active - OUTPUT], tokens[active - OUTPUT : active]
        request = adapter.cached_request(f"request-{n}", prompt, output, block_size=p["block_size"])
        batch.add_request(request)
        adapter.speculate(batch, request, tokens[active:])
    if p["touch"]:
        touch(batch)
    return batch


def touch(batch: Any) -> None:
    """Writes every page of the rows once, changing nothing."""
    for rows in row_arrays(batch):
        flat = rows.reshape(-1)
        step = max(1, 4096 // rows.itemsize)
        flat[::step] = flat[::step].copy()


def row_arrays(batch: Any) -> list[np.ndarray]:
    """The arrays whose whole rows an exchange moves: token ids, their mask, the block tables."""
    return [batch.token_ids_cpu, batch.is_token_ids, *(table.block_table.np for table in batch.block_table.block_tables)]


def pairs(parameters: dict[str, Any], seed: int, count: int) -> list[tuple[int, int]]:
    """`count` pairs of two different rows, drawn by `random.Random(seed + 17)`."""
    rng = random.Random(seed + 17)
    drawn = (rng.sample(range(parameters["requests"]), 2) for _ in range(count))
    return [(one, other) for one, other in drawn]


def schedules(parameters: dict[str, Any], seed: int, count: int) -> list[SimpleNamespace]:
    """`count` scheduler outputs: every request gets one token or a chunk, drawn by `random.Random(seed + 17)`."""
    rng, requests = random.Random(seed + 17), range(parameters["requests"])
    return [SimpleNamespace(num_scheduled_tokens={f"request-{n}": rng.choice((1, CHUNK)) for n in requests}) for _ in range(count)]


def reorder(batch: Any, steps: list[SimpleNamespace]) -> None:
    put_in_order = adapter.find(REORDER)
    for step in steps:
        put_in_order(batch, step, decode_threshold=1)


def plan(parameters: dict[str, Any], seed: int, swaps: int) -> tuple[Any, list[Any]]:
    """The work of a run, and its inputs."""
    if parameters["reorders"]:
        return reorder, schedules(parameters, seed, parameters["reorders"])
    return exchange, pairs(parameters, seed, swaps)


def exchange(batch: Any, swaps: list[tuple[int, int]]) -> None:
    swap = batch.swap_states
    for one, other in swaps:
        swap(one, other)


def tally(parameters: dict[str, Any]) -> tuple[float, dict[str, int]]:
    """Bytes that one exchange copied, counted in a separate run over metered arrays (not timed); and the work of that run.

    The checksum is over the tokens that the rows hold at the end: arms that did the same work agree.
    """
    batch, seed = build({**parameters, "touch": False}, parameters["seed"]), parameters["seed"]
    meter = Meter()
    batch.token_ids_cpu = meter.wrap(batch.token_ids_cpu)
    batch.is_token_ids = meter.wrap(batch.is_token_ids)
    for table in batch.block_table.block_tables:
        table.block_table.np = meter.wrap(table.block_table.np)
    work, inputs = plan(parameters, seed, parameters["swaps"])
    work(batch, inputs)
    swaps = adapter.drain_moves(batch)
    return meter.bytes / swaps, {"swaps": swaps, "rows": checksum(batch)}


def checksum(batch: Any) -> int:
    """A checksum over every row's tokens and blocks in use."""
    total = 0
    for row in range(batch.num_reqs):
        active = int(batch.num_tokens_no_spec[row]) + len(batch.spec_token_ids[row])
        table = batch.block_table.block_tables[0]
        for used in (batch.token_ids_cpu[row, :active], table.block_table.np[row, : table.num_blocks_per_row[row]]):
            total = zlib.crc32(used.tobytes(), total)
    return total


def counted_round(parameters: dict[str, Any]) -> Any:
    """A run on a batch of its own, for its work to be counted."""
    work, inputs = plan(parameters, parameters["seed"], parameters["swaps"])
    batch = build({**parameters, "touch": False}, parameters["seed"])
    return lambda: run(work, batch, inputs)


def run(work: Any, batch: Any, inputs: list[Any]) -> None:
    work(batch, inputs)


def test_swap_states(benchmark: Any, parameters: dict[str, Any]) -> None:
    """One round is one run of the author's workload."""
    p, done = parameters, [0]

    def setup() -> tuple[tuple[Any, Any, list[Any]], dict[str, Any]]:
        run = done[0] - p["warmup_rounds"]
        done[0] += 1
        seed = p["seed"] + run if run >= 0 else p["seed"] - 1
        swaps = p["swaps"] if run >= 0 else min(500, p["swaps"])
        work, inputs = plan(p, seed, swaps)
        return (work, build(p, seed), inputs), {}

    time_rounds(benchmark, p, run, setup)
    copied, done_work = tally(p)
    benchmark.extra_info["parameters"] = p
    benchmark.extra_info["witnesses"] = {"bytes_per_swap": copied}
    benchmark.extra_info["work"] = done_work
