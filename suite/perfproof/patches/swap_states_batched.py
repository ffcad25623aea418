"""A whole reordering of the batch is one permutation, and moves only what is in use (ours; beyond vLLM #34733).

Upstream (0.19 on) exchanges rows one pair at a time, copies the longer of two prefixes three times, and
still exchanges block-table rows at full width: most of the bytes once `max_model_len` is large. Here

- `BlockTable.swap_row` exchanges only the longer of the two live prefixes, in every exchange;
- `reorder_batch_to_split_decodes_and_prefills`, the one caller of `swap_states`, runs unchanged over a
  stand-in that records the exchanges. Their result is then made at once: every row that moves moves once,
  only its live prefix, and every per-request array is gathered once.

The result is the same as after upstream's exchanges, in every array, list and map, and `moved` has the same
exchanges in the same order. Only the part after a row's live prefix may differ, which nothing reads.
A batch with masks of allowed tokens goes pair by pair, counted as a fallback (up to 0.30 upstream's
exchange of those masks loses one of them, and a permutation would not).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

from perfproof.patches.guard import Patch, Target, counter, original_of

NAME = "swap_states_batched"
SWAP_ROW = Target(
    "vllm.v1.worker.block_table",
    "BlockTable.swap_row",
    dict.fromkeys(("0.22.0", "0.25.1", "0.28.0", "0.32.0"), "5de2c77e73e76ce5"),
)
REORDER = Target(
    "vllm.v1.attention.backends.utils",
    "reorder_batch_to_split_decodes_and_prefills",
    {"0.22.0": "8b826cd70e85f7d7", "0.25.1": "8b826cd70e85f7d7", "0.28.0": "8b826cd70e85f7d7", "0.32.0": "2ab2e73eb1520149"},
)
SWAP_STATES = Target(
    "vllm.v1.worker.gpu_input_batch",
    "InputBatch.swap_states",
    {"0.22.0": "1e5efaeef3cdde35", "0.25.1": "1e5efaeef3cdde35", "0.28.0": "4b68ccb5b93e8b2b", "0.32.0": "edc0f583aebcdbbf"},
)
"""Replaced by itself: the permutation must do the same as this source, so its hash is checked too."""

PATCH = Patch(
    name=NAME,
    direction="adds",
    summary="reorders the batch by one permutation and moves live prefixes only, of block tables too",
    origin="perfproof; beyond https://github.com/vllm-project/vllm/pull/34733",
    holds={release: frozenset({"cpu", "cuda"} if release == "0.22.0" else {"cpu"}) for release in REORDER.sources},
    targets=(SWAP_ROW, REORDER, SWAP_STATES),
)

ARRAYS = ("num_tokens_no_spec", "num_prompt_tokens", "num_computed_tokens_cpu", "request_lora_mapping")
SAMPLING_ARRAYS = (
    "temperature_cpu",
    "top_p_cpu",
    "top_k_cpu",
    "frequency_penalties_cpu",
    "presence_penalties_cpu",
    "repetition_penalties_cpu",
    "num_accepted_tokens_cpu",
)
LISTS = ("_req_ids", "req_output_token_ids", "spec_token_ids")


def swap_row(self: Any, src: int, tgt: int) -> None:
    """`BlockTable.swap_row` over the longer live prefix of the two rows."""
    blocks, table = self.num_blocks_per_row, self.block_table.np
    first, second = blocks[src], blocks[tgt]
    width = max(first, second)
    blocks[src], blocks[tgt] = second, first
    kept = table[src, :width].copy()
    table[src, :width] = table[tgt, :width]
    table[tgt, :width] = kept


class Scribe:
    """A stand-in for a batch: it reads like it, and records exchanges instead of making them."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self.swaps: list[tuple[int, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def swap_states(self, i1: int, i2: int) -> None:
        self.swaps.append((i1, i2))


def sources_of(swaps: Iterable[tuple[int, int]]) -> dict[int, int]:
    """For every row that gets another request: the row that this request came from."""
    source: dict[int, int] = {}
    for one, other in swaps:
        source[one], source[other] = source.get(other, other), source.get(one, one)
    return {row: origin for row, origin in source.items() if row != origin}


def cycles_of(source: Mapping[int, int]) -> list[list[int]]:
    """The permutation as cycles: each row gets what the next one of its cycle has, the last what the first had."""
    left, cycles = dict(source), []
    while left:
        row, origin = left.popitem()
        cycle = [row]
        while origin != row:
            cycle.append(origin)
            origin = left.pop(origin)
        cycles.append(cycle)
    return cycles


def move_rows(rows: Any, cycles: list[list[int]], lengths: Mapping[int, int]) -> None:
    """Moves the live prefix, `lengths[row]` wide before the move, of every row of `rows` along its cycle."""
    for cycle in cycles:
        first = cycle[0]
        kept = rows[first, : lengths[first]].copy()
        for row, origin in pairwise(cycle):
            length = lengths[origin]
            rows[row, :length] = rows[origin, :length]
        rows[cycle[-1], : lengths[first]] = kept


def move_items(items: list[Any], source: Mapping[int, int]) -> None:
    moved = [(row, items[origin]) for row, origin in source.items()]
    for row, item in moved:
        items[row] = item


def move_keys(values: dict[int, Any], source: Mapping[int, int]) -> None:
    """Moves a map's values for the rows; a row whose origin has no value loses its own."""
    if not values:
        return
    for row, value in [(row, values.get(origin)) for row, origin in source.items()]:
        if value is None:
            values.pop(row, None)
        else:
            values[row] = value


def permute(batch: Any, swaps: list[tuple[int, int]]) -> None:
    """Makes the same batch as `batch.swap_states` over `swaps`, one after the other."""
    source = sources_of(swaps)
    _move_tokens(batch, source)
    names = ARRAYS + (("replayssm_decode_base",) if getattr(batch, "use_replayssm", False) else ())
    for items in LISTS:
        move_items(getattr(batch, items), source)
    for row in source:
        batch.req_id_to_index[batch._req_ids[row]] = row
    move_keys(batch.req_prompt_embeds, source)
    if not batch.is_pooling_model:
        from vllm.v1.sample.logits_processor.interface import MoveDirectionality

        batch.batch_update_builder.moved.extend((i1, i2, MoveDirectionality.SWAP) for i1, i2 in swaps)
        names += SAMPLING_ARRAYS
        move_keys(batch.generators, source)
        move_keys(batch.bad_words_token_ids, source)
    rows, origins = list(source), list(source.values())
    for name in names:
        values = getattr(batch, name)
        values[rows] = values[origins]


def _move_tokens(batch: Any, source: Mapping[int, int]) -> None:
    """Token ids, their mask and the block tables; lengths are read before anything has moved."""
    cycles = cycles_of(source)
    active = {row: batch._get_active_token_count(row) for row in source}
    move_rows(batch.token_ids_cpu, cycles, active)
    move_rows(batch.is_token_ids, cycles, active)
    for table in batch.block_table.block_tables:
        blocks = table.num_blocks_per_row
        move_rows(table.block_table.np, cycles, {row: int(blocks[row]) for row in source})
        blocks[list(source)] = blocks[list(source.values())]


def at_once(upstream: Callable[..., bool]) -> Callable[..., bool]:
    """`reorder_batch_to_split_decodes_and_prefills`, its exchanges done as one permutation."""
    fast, fallback = counter(f"fast {NAME}").add, counter(f"fallback {NAME}").add

    def reorder_batch_to_split_decodes_and_prefills(input_batch: Any, scheduler_output: Any, decode_threshold: int = 1) -> bool:
        scribe = Scribe(input_batch)
        changed = upstream(scribe, scheduler_output, decode_threshold)
        if input_batch.allowed_token_ids_mask_cpu_tensor is None:
            fast()
            permute(input_batch, scribe.swaps)
        else:
            fallback()
            for one, other in scribe.swaps:
                input_batch.swap_states(one, other)
        return changed

    return reorder_batch_to_split_decodes_and_prefills


def replacements() -> Mapping[str, Callable[..., Any]]:
    return {SWAP_ROW.name: swap_row, REORDER.name: at_once(original_of(REORDER)), SWAP_STATES.name: original_of(SWAP_STATES)}


def register() -> None:
    PATCH.apply(replacements)
