"""Exchanging two rows copies all `max_model_len` tokens again, as before vLLM 0.19 (#34733 removed).

From 0.19 on `InputBatch.swap_states` calls `_get_active_token_count` for the part of either row in use
and copies no more. Here the answer is that every row is in use to its end; everything else is upstream's
own code. `condense` calls the same function and gets the real answer: it never copied whole rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from perfproof.patches.guard import Patch, Target, original_of

SWAP = Target(
    "vllm.v1.worker.gpu_input_batch",
    "InputBatch.swap_states",
    {
        "0.19.0": "1e5efaeef3cdde35",
        "0.22.0": "1e5efaeef3cdde35",
        "0.25.1": "1e5efaeef3cdde35",
        "0.28.0": "4b68ccb5b93e8b2b",
        "0.32.0": "edc0f583aebcdbbf",
    },
)

PATCH = Patch(
    name="swap_states_full_rows",
    direction="removes",
    summary="copies whole rows of token ids when two requests of the batch change places",
    origin="https://github.com/vllm-project/vllm/pull/34733",
    holds={release: frozenset({"cpu", "cuda"} if release == "0.22.0" else {"cpu"}) for release in SWAP.sources},
    targets=(SWAP,),
)


def full_rows(upstream: Callable[[Any, int, int], None]) -> Callable[[Any, int, int], None]:
    """`swap_states` for which every row is active to its end."""

    def swap_states(self: Any, i1: int, i2: int) -> None:
        width = self.token_ids_cpu.shape[1]
        self._get_active_token_count = lambda req_index: width
        try:
            upstream(self, i1, i2)
        finally:
            del self._get_active_token_count

    return swap_states


def replacements() -> Mapping[str, Callable[..., Any]]:
    return {SWAP.name: full_rows(original_of(SWAP))}


def register() -> None:
    PATCH.apply(replacements)
