"""Exchanging two rows copies only their active prefix (vLLM #34733, in 0.19.0), for 0.17.1 and 0.18.1.

Those versions copy whole `max_model_len` rows of `token_ids_cpu` and `is_token_ids`. The part of a row in
use is its tokens without drafts (`num_tokens_no_spec`) and its drafts; the longer of the two prefixes is
read before anything changes places, and upstream's own code then runs over views that are no wider.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from perfproof.patches.guard import Patch, Target, original_of

SWAP = Target(
    "vllm.v1.worker.gpu_input_batch",
    "InputBatch.swap_states",
    {"0.17.1": "65d4d192b7f18684", "0.18.1": "65d4d192b7f18684"},
)

PATCH = Patch(
    name="swap_states_active_prefix",
    direction="adds",
    summary="copies only the tokens in use when two requests of the batch change places",
    origin="https://github.com/vllm-project/vllm/pull/34733",
    holds={release: frozenset({"cpu"}) for release in SWAP.sources},
    targets=(SWAP,),
)


def active_tokens(batch: Any, row: int) -> int:
    """How many tokens of a row are in use, drafts included."""
    return int(batch.num_tokens_no_spec[row]) + len(batch.spec_token_ids[row])


def active_prefix(upstream: Callable[[Any, int, int], None]) -> Callable[[Any, int, int], None]:
    """`swap_states` over rows cut to the longer active prefix."""

    def swap_states(self: Any, i1: int, i2: int) -> None:
        width = max(active_tokens(self, i1), active_tokens(self, i2))
        tokens, mask = self.token_ids_cpu, self.is_token_ids
        self.token_ids_cpu, self.is_token_ids = tokens[:, :width], mask[:, :width]
        try:
            upstream(self, i1, i2)
        finally:
            self.token_ids_cpu, self.is_token_ids = tokens, mask

    return swap_states


def replacements() -> Mapping[str, Callable[..., Any]]:
    return {SWAP.name: active_prefix(original_of(SWAP))}


def register() -> None:
    PATCH.apply(replacements)
