"""A pooler that is wrong on purpose, in one way; `PERFPROOF_FAULT` says in which (see `chosen_fault`).

Faulty are SPLADE's pooler, which reads token ids, and with the first two faults and the fourth also the pooler of a prompt's last token.

- `last_token_dropped`: the last token of every prompt is not pooled;
- `one_row_late`: every prompt is pooled from the row after its first on, so that the last of it is its neighbour's first;
- `end_mark_pooled`: the mark that ends every prompt is pooled with its words;
- `rounded`: the embedding goes through float16;
- `long_prompts`: of prompts beyond 64 tokens, only the first 64 are pooled.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from perfproof.patches.guard import Patch, Target, original_of
from perfproof.patches.planted.chosen_fault import chosen

POOL = Target(
    "vllm.model_executor.models.bert",
    "SPLADESparsePooler.forward",
    {"0.28.0": "7d90c64a26c766d7", "0.32.0": "7d90c64a26c766d7"},
)
LAST = Target(
    "vllm.model_executor.layers.pooler.seqwise.methods",
    "LastPool.forward",
    {"0.28.0": "3650c1d70e9dd4ad", "0.32.0": "3650c1d70e9dd4ad"},
)
PATCH = Patch(
    name="planted_pooling",
    direction="adds",
    summary="a pooler that is wrong on purpose, to see which gate catches it",
    origin="the suite's own",
    holds={"0.28.0": frozenset({"cpu"}), "0.32.0": frozenset({"cpu"})},
    targets=(POOL, LAST),
)
LONGEST = 64
Pool = Callable[..., Any]


def without(hidden: Any, lengths: list[int], kept: Callable[[int], list[int]]) -> Any:
    """The hidden states with each prompt's rows replaced by those of its rows that `kept` names for its length."""
    import torch

    starts = [sum(lengths[:place]) for place in range(len(lengths))]
    return torch.cat([hidden[start : start + length][kept(length)] for start, length in zip(starts, lengths)])  # noqa: B905


def last_token_dropped(pool: Pool) -> Pool:
    """The last word's row (the mark of the end comes after it) is replaced by the one before: no shape changes."""

    def wrong(self: Any, hidden: Any, metadata: Any) -> Any:
        def kept(length: int) -> list[int]:
            rows = list(range(length))
            return [*rows[:-2], max(0, length - 3), length - 1] if length > 2 else rows

        return pool(self, without(hidden, metadata.prompt_lens.tolist(), kept), metadata)

    return wrong


def one_row_late(pool: Pool) -> Pool:
    return lambda self, hidden, metadata: pool(self, hidden.roll(-1, dims=0), metadata)


def end_mark_pooled(pool: Pool) -> Pool:
    def wrong(self: Any, hidden: Any, metadata: Any) -> Any:
        seen = copy.copy(self)
        seen.sep_token_id = None
        return pool(seen, hidden, metadata)

    return wrong


def rounded(pool: Pool) -> Pool:
    def wrong(self: Any, hidden: Any, metadata: Any) -> Any:
        pooled = pool(self, hidden, metadata)
        return pooled.half().to(pooled.dtype)

    return wrong


def long_prompts(pool: Pool) -> Pool:
    def wrong(self: Any, hidden: Any, metadata: Any) -> Any:
        kept = lambda length: [min(row, LONGEST - 1) for row in range(length)]  # noqa: E731
        return pool(self, without(hidden, metadata.prompt_lens.tolist(), kept), metadata)

    return wrong


def one_token_early(pool: Pool) -> Pool:
    return lambda self, hidden, metadata: pool(self, hidden.roll(1, dims=0), metadata)


FAULTS: Mapping[str, Callable[[Pool], Pool]] = {
    fault.__name__: fault for fault in (last_token_dropped, one_row_late, end_mark_pooled, rounded, long_prompts)
}


OF_LAST: Mapping[str, Callable[[Pool], Pool]] = {"last_token_dropped": one_token_early, "one_row_late": one_row_late, "rounded": rounded}
"""The faults of the pooler that takes the last token; it is right with the others."""


def replacements() -> Mapping[str, Pool]:
    fault = chosen(PATCH.name, FAULTS)
    last = original_of(LAST)
    of_last = OF_LAST.get(fault.__name__)
    return {POOL.qualname: fault(original_of(POOL)), LAST.qualname: of_last(last) if of_last is not None else last}


def register() -> None:
    PATCH.apply(replacements)
