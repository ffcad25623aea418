"""Pooling: token ids that only the host reads stay on the host (vLLM #38139, in 0.19.0), for 0.17.1 and 0.18.1.

Before 0.19 `InputBatch.get_pooling_metadata` hands on only the device's copy of the prompt ids, and the
poolers that look at them on the host (GritLM, SPLADE, BGE-M3's sparse head) fetch them back row by row,
with a synchronisation per request or two. As upstream did, the metadata gets a second copy that never
leaves the host, `prompt_token_ids_cpu`, wherever a request of the batch asks for token ids, and those
three poolers read that one. Others (`StepPool`, Jina's) keep the device's copy, which is still made.

On a CPU build there is nothing to fetch back, and the padded copy is built twice: expect *equivalent or
worse* there. Metadata without the host's copy (vLLM's warm-up makes it by hand) takes the old path and is
counted as a fallback.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from perfproof.patches.guard import Patch, Target, counter, original_of

CPU_IDS = "prompt_token_ids_cpu"
BATCH = Target(
    "vllm.v1.worker.gpu_input_batch",
    "InputBatch.get_pooling_metadata",
    {"0.17.1": "48132fda1572bf2a", "0.18.1": "48132fda1572bf2a"},
)
SLICE = Target("vllm.v1.pool.metadata", "PoolingMetadata.__getitem__", {"0.17.1": "7735ee5955b5d3fb", "0.18.1": "7735ee5955b5d3fb"})
SPLADE = Target(
    "vllm.model_executor.models.bert", "SPLADESparsePooler.forward", {"0.17.1": "e59105de3db81c96", "0.18.1": "e59105de3db81c96"}
)
BOS_EOS = Target(
    "vllm.model_executor.layers.pooler.special", "BOSEOSFilter.forward", {"0.17.1": "ac16d59777fb7477", "0.18.1": "ac16d59777fb7477"}
)
GRITLM = Target("vllm.model_executor.models.gritlm", "GritLMMeanPool.forward", {"0.17.1": "147415cb09cf425c", "0.18.1": "147415cb09cf425c"})

PATCH = Patch(
    name="pooling_cpu_token_ids",
    direction="adds",
    summary="keeps a copy of the prompt token ids on the host for the poolers that read them there",
    origin="https://github.com/vllm-project/vllm/pull/38139",
    holds={"0.17.1": frozenset({"cpu"}), "0.18.1": frozenset({"cpu"})},
    targets=(BATCH, SLICE, SPLADE, BOS_EOS, GRITLM),
)


def host_ids(batch: Any) -> Any:
    """The prompts' token ids, int64 of shape [requests, longest prompt], padded with the vocabulary's size, on the host."""
    import torch

    lengths = batch.num_prompt_tokens[: batch.num_reqs]
    ids = torch.empty((batch.num_reqs, lengths.max()), device="cpu", dtype=torch.int64, pin_memory=batch.pin_memory)
    rows = ids.numpy()
    rows[:] = batch.token_ids_cpu[: batch.num_reqs, : ids.shape[1]]
    for i, length in enumerate(lengths):
        rows[i, length:] = batch.vocab_size
    return ids


def with_host_ids(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """A `get_pooling_metadata` that adds the host's copy where a request asks for token ids."""

    def get_pooling_metadata(self: Any) -> Any:
        metadata = upstream(self)
        # Released code can lack the device's copy though a request asks for ids (`condense` does not move that flag): lack it too.
        wanted = metadata.prompt_token_ids is not None and any(params.requires_token_ids for params in metadata.pooling_params)
        setattr(metadata, CPU_IDS, host_ids(self) if wanted else None)
        return metadata

    return get_pooling_metadata


def slicing_host_ids(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """A `PoolingMetadata.__getitem__` that slices the host's copy along (the dispatch pooler slices by task)."""

    def __getitem__(self: Any, indices: slice) -> Any:
        part = upstream(self, indices)
        ids = getattr(self, CPU_IDS, None)
        setattr(part, CPU_IDS, None if ids is None else ids[indices])
        return part

    return __getitem__


def reading_host_ids(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """A pooler's `forward` that sees the host's copy of the ids where upstream sees the device's."""
    fast, fallback = counter(f"fast {PATCH.name}"), counter(f"fallback {PATCH.name}")

    def forward(self: Any, hidden_states: Any, pooling_metadata: Any) -> Any:
        ids = getattr(pooling_metadata, CPU_IDS, None)
        if ids is None:
            fallback.add()
            return upstream(self, hidden_states, pooling_metadata)
        fast.add()
        seen = copy.copy(pooling_metadata)
        seen.prompt_token_ids = ids
        return upstream(self, hidden_states, seen)

    return forward


def filtering_by_host_ids(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """`BOSEOSFilter.forward` over the host's copy; the pooler inside keeps the metadata as it came."""
    fast, fallback = counter(f"fast {PATCH.name}"), counter(f"fallback {PATCH.name}")

    def forward(self: Any, hidden_states: Any, pooling_metadata: Any) -> Any:
        ids = getattr(pooling_metadata, CPU_IDS, None)
        if ids is None:
            fallback.add()
            return upstream(self, hidden_states, pooling_metadata)
        fast.add()
        outputs = self.pooler(hidden_states, pooling_metadata)
        for i, length in enumerate(pooling_metadata.prompt_lens.tolist()):
            data = outputs[i]
            if data.shape[0] != length:
                raise ValueError(f"request {i} has {length} prompt tokens, but the pooler gave {data.shape[0]} rows")
            if int(ids[i, 0]) == self.bos_token_id:
                data = data[1:]
            if int(ids[i, length - 1]) == self.eos_token_id:
                data = data[:-1]
            outputs[i] = data.squeeze(-1)
        return outputs

    return forward


def replacements() -> Mapping[str, Callable[..., Any]]:
    return {
        BATCH.name: with_host_ids(original_of(BATCH)),
        SLICE.name: slicing_host_ids(original_of(SLICE)),
        SPLADE.name: reading_host_ids(original_of(SPLADE)),
        BOS_EOS.name: filtering_by_host_ids(original_of(BOS_EOS)),
        GRITLM.name: reading_host_ids(original_of(GRITLM)),
    }


def register() -> None:
    PATCH.apply(replacements)
