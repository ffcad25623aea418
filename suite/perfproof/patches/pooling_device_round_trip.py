"""Pooling: removes the host's copy of the token ids again (which vLLM #38139 added in 0.19.0), for 0.19.0, 0.22.0 and 0.28.0.

From 0.19 to 0.28 the metadata carries the prompt ids twice, on the device and on the host. This patch
stops making the host's copy and lets the poolers fetch the ids from the device, as they did
before: SPLADE and BGE-M3's filter the first and the last id of each request (two synchronisations a
request), everything else that asks for ids on the host (GritLM, and `StepPool` from 0.20 on) each
request's row (one synchronisation a request). From 0.29 on the ids are never put on the device for pooling,
so there is nothing to remove.

Two things stay as released, because they cost no synchronisation: the prompt lengths are copied, and the
filter compares numbers instead of tensors, which saves the old code's comparison kernels. Measured gains
of #38139 are therefore, if anything, too small.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from perfproof.patches.guard import Patch, Target, counter, original_of

BATCH = Target(
    "vllm.v1.worker.gpu_input_batch",
    "InputBatch.get_pooling_metadata",
    {"0.19.0": "46a19485ce11a488", "0.22.0": "46a19485ce11a488", "0.28.0": "46a19485ce11a488"},
)
HOST_IDS = Target(
    "vllm.v1.pool.metadata",
    "PoolingMetadata.get_prompt_token_ids_cpu",
    {"0.19.0": "77967b9cb58d4ad2", "0.22.0": "62f3e8d41b061496", "0.28.0": "62f3e8d41b061496"},
)
SPLADE = Target(
    "vllm.model_executor.models.bert",
    "SPLADESparsePooler.forward",
    {"0.19.0": "7d90c64a26c766d7", "0.22.0": "7d90c64a26c766d7", "0.28.0": "7d90c64a26c766d7"},
)
BOS_EOS = Target(
    "vllm.model_executor.layers.pooler.special",
    "BOSEOSFilter.forward",
    {"0.19.0": "a4ca99a79da4278e", "0.22.0": "a4ca99a79da4278e", "0.28.0": "a4ca99a79da4278e"},
)

PATCH = Patch(
    name="pooling_device_round_trip",
    direction="removes",
    summary="makes no host copy of the prompt token ids: poolers fetch them from the device, request by request",
    origin="https://github.com/vllm-project/vllm/pull/38139, undone",
    holds={"0.19.0": frozenset({"cpu"}), "0.22.0": frozenset({"cpu", "cuda"}), "0.28.0": frozenset({"cpu"})},
    targets=(BATCH, HOST_IDS, SPLADE, BOS_EOS),
)


def with_device_ids(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """`InputBatch.get_pooling_metadata` with the device's ids in the place of the host's copy.

    Where a request asks for ids and the device has none (`condense` does not move the flag that asks for
    them there), the host's copy is made as released, and counted as a fallback.
    """
    fast, fallback = counter(f"fast {PATCH.name}"), counter(f"fallback {PATCH.name}")

    def get_pooling_metadata(self: Any) -> Any:
        from vllm.v1.pool.metadata import PoolingMetadata

        params, ids = self.get_pooling_params(), self.sampling_metadata.prompt_token_ids
        wanted = any(one.requires_token_ids for one in params)
        if wanted and ids is None:
            fallback.add()
            return upstream(self)
        fast.add()
        return PoolingMetadata(
            prompt_lens=self.num_prompt_tokens_cpu_tensor[: self.num_reqs].clone(),
            prompt_token_ids=ids,
            prompt_token_ids_cpu=ids if wanted else None,
            pooling_params=params,
            pooling_states=self.get_pooling_states(),
        )

    return get_pooling_metadata


def fetching_rows(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """`PoolingMetadata.get_prompt_token_ids_cpu` that fetches each request's row from the device."""

    def get_prompt_token_ids_cpu(self: Any) -> list[Any]:
        return [row.cpu() for row in upstream(self)]

    return get_prompt_token_ids_cpu


def looking_on_device(upstream: Callable[..., Any], rows_of: Callable[..., Any]) -> Callable[..., Any]:
    """A pooler's `forward` whose looks at first and last ids go to the device one by one, to the rows of `rows_of(metadata)`."""

    def forward(self: Any, hidden_states: Any, pooling_metadata: Any) -> Any:
        seen = copy.copy(pooling_metadata)
        # An attribute of the instance goes before the class's method.
        seen.get_prompt_token_ids_cpu = lambda: rows_of(pooling_metadata)
        return upstream(self, hidden_states, seen)

    return forward


def replacements() -> Mapping[str, Callable[..., Any]]:
    rows_of = original_of(HOST_IDS)
    return {
        BATCH.name: with_device_ids(original_of(BATCH)),
        HOST_IDS.name: fetching_rows(rows_of),
        SPLADE.name: looking_on_device(original_of(SPLADE), rows_of),
        BOS_EOS.name: looking_on_device(original_of(BOS_EOS), rows_of),
    }


def register() -> None:
    PATCH.apply(replacements)
