"""Model Runner V2's objects, each by itself: the states of requests, the sampler, and a runner without a model.

They are vLLM's own objects, made in the same way for every release (`adapter.accepted`). V2 runs on CUDA alone: its kernels are Triton's,
and its states lie in pinned memory that the device sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from perfproof.bench.adapter import accepted, find

SAMPLER = "vllm.v1.worker.gpu.sample.sampler:Sampler"
RUNNER = "vllm.v1.worker.gpu.model_runner:GPUModelRunner"
PROMPT = (11, 12, 13, 14)
BLOCK_SIZE = 16


def device() -> Any:
    """The GPU; skips the benchmark where PyTorch can use none."""
    import torch

    if not torch.cuda.is_available():
        pytest.skip("Model Runner V2 needs CUDA: its kernels are Triton's and its state is pinned memory that the device sees")
    return torch.device("cuda")


def synchronize() -> None:
    """Waits for the device."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


# --- requests and their sampling ------------------------------------------------------------------


def request_states(*, max_num_reqs: int, vocab_size: int, device: Any, max_model_len: int = 64, num_speculative_steps: int = 1) -> Any:
    """V2's `RequestState`, by default small in tokens."""
    states = find("vllm.v1.worker.gpu.states:RequestState")
    return states(
        **accepted(
            states.__init__,
            max_num_reqs=max_num_reqs,
            max_model_len=max_model_len,
            max_num_batched_tokens=max_num_reqs * 4,
            num_speculative_steps=num_speculative_steps,
            vocab_size=vocab_size,
            device=device,
        )
    )


def build_sampler(kind: Any, states: Any, **more: Any) -> Any:
    """A `Sampler` (or a subclass) over those states. Of a configuration, where a release asks for one, it reads the reasoning part."""
    return kind(
        **accepted(
            kind.__init__,
            vllm_config=SimpleNamespace(reasoning_config=None),
            max_num_reqs=states.max_num_reqs,
            vocab_size=states.vocab_size,
            device=states.device,
            req_states=states,
            **more,
        )
    )


def add_request(sampler: Any, states: Any, req_id: str, sampling_params: Any, tokens: Sequence[int] = PROMPT, prompt_len: int = 0) -> int:
    """Puts a request into a free slot of both; returns the slot. Those of its tokens behind `prompt_len` are output (0: none is)."""
    prompt_len = prompt_len or len(tokens)
    states.add_request(
        **accepted(
            states.add_request, req_id=req_id, prompt_len=prompt_len, all_token_ids=list(tokens), num_computed_tokens=0, max_tokens=16
        )
    )
    slot = int(states.req_id_to_index[req_id])
    sampler.add_request(**accepted(sampler.add_request, req_idx=slot, prompt_len=prompt_len, sampling_params=sampling_params))
    return slot


def step_arguments(
    slots: Sequence[int], *, vocab_size: int, dtype: Any, device: Any, seed: int, position: int = len(PROMPT)
) -> dict[str, Any]:
    """The sampler's arguments in a decode step: one logit row per request, in the order of `slots`, each at that position of its text."""
    import numpy as np
    import torch

    rows = len(slots)
    generator = torch.Generator(device=device).manual_seed(seed)
    slots_np = np.array(slots, dtype=np.int32)
    slots_device = torch.from_numpy(slots_np).to(device)
    return {
        "logits": torch.randn(rows, vocab_size, device=device, generator=generator).mul_(4).to(dtype),
        "expanded_idx_mapping": slots_device,
        "idx_mapping": slots_device,
        "idx_mapping_np": slots_np,
        "pos": torch.full((rows,), position, dtype=torch.int64, device=device),
        "input_ids": torch.full((rows,), PROMPT[-1], dtype=torch.int32, device=device),
        "expanded_local_pos": torch.zeros(rows, dtype=torch.int32, device=device),
        "seq_lens_upper_bound_np": np.full(rows, position + 1, dtype=np.int32),
    }


def speculative_batch(slots: Sequence[int], drafts: int, logits: Any, states: Any) -> Any:
    """What the rejection sampler reads of a batch whose requests have `drafts` drafted tokens each, half of them the likeliest ids."""
    import numpy as np
    import torch

    device, rows = logits.device, drafts + 1
    slots_np = np.array(slots, dtype=np.int32)
    place = torch.arange(len(slots) * rows, device=device)
    likely = logits.float().argmax(dim=-1)
    drafted = torch.where(place % 2 == 0, likely, (likely + 1) % logits.shape[1])
    ends = np.arange(0, len(place) + 1, rows, dtype=np.int32)
    lengths = torch.full((len(slots),), states.max_model_len - 1, dtype=torch.int32)
    return SimpleNamespace(
        num_reqs=len(slots),
        input_ids=drafted.roll(1).to(torch.int32),  # a row is judged by the draft that stands in the next one
        positions=len(PROMPT) + place % rows,
        logits_indices=place,
        idx_mapping=torch.from_numpy(slots_np).to(device),
        idx_mapping_np=slots_np,
        expanded_idx_mapping=torch.from_numpy(np.repeat(slots_np, rows)).to(device),
        expanded_local_pos=(place % rows).to(torch.int32),
        cu_num_logits=torch.from_numpy(ends).to(device),
        cu_num_logits_np=ends,
        seq_lens=lengths.to(device),
        seq_lens_cpu_upper_bound=lengths,
    )


# --- a runner without a model ---------------------------------------------------------------------


def runner(*, requests: int, max_model_len: int, vocab_size: int, device: Any) -> Any:
    """V2's `GPUModelRunner` with its states, block tables, buffers and sampler, but no model: it takes requests and prepares steps."""
    made = object.__new__(find(RUNNER))
    tables, buffers = find("vllm.v1.worker.gpu.block_table:BlockTables"), find("vllm.v1.worker.gpu.input_batch:InputBuffers")
    states = request_states(max_num_reqs=requests, vocab_size=vocab_size, device=device, max_model_len=max_model_len)
    no_model = SimpleNamespace(
        add_request=_nothing, remove_request=_nothing, apply_staged_writes=_nothing, num_new_sampled_tokens_per_step=1
    )
    vars(made).update(
        device=device,
        max_num_reqs=requests,
        max_num_tokens=4 * requests,
        num_speculative_steps=0,
        decode_query_len=1,
        uniform_decode_query_len=1,
        req_states=states,
        input_buffers=buffers(**accepted(buffers.__init__, max_num_reqs=requests, max_num_tokens=4 * requests, device=device)),
        block_tables=tables(
            **accepted(
                tables.__init__,
                block_sizes=[BLOCK_SIZE],
                kernel_block_sizes=[BLOCK_SIZE],
                max_num_reqs=requests,
                max_num_batched_tokens=4 * requests,
                max_num_blocks_per_group=[-(-max_model_len // BLOCK_SIZE)],
                device=device,
            )
        ),
        sampler=build_sampler(find(SAMPLER), states),
        prompt_logprobs_worker=SimpleNamespace(add_request=_nothing, remove_request=_nothing),
        lora_state=find("vllm.v1.worker.gpu.lora_utils:LoraState")(requests),
        model_state=no_model,
        model_config=SimpleNamespace(rswa_window=None),
        **dict.fromkeys(("is_last_pp_rank",), True),
        **dict.fromkeys(("use_dcp", "use_pp"), False),
        **dict.fromkeys(("adaptive_verification", "encoder_cache", "fast_prefill", "pcp_manager", "pooling_runner", "pp_handler")),
    )
    return made


def _nothing(*_: Any, **__: Any) -> None:
    return None


def new_request(req_id: str, prompt: Sequence[int], sampling_params: Any, blocks: Sequence[int]) -> Any:
    """A request as the scheduler hands it to the runner, its prompt computed: its next step decodes."""
    return SimpleNamespace(
        req_id=req_id,
        prompt_len=len(prompt),
        prompt_token_ids=list(prompt),
        prefill_token_ids=list(prompt),
        num_computed_tokens=len(prompt),
        block_ids=(list(blocks),),
        sampling_params=sampling_params,
        pooling_params=None,
        lora_request=None,
        mm_features=[],
    )


def scheduled(computed: Mapping[str, int], new: Sequence[Any] = (), blocks: Mapping[str, Sequence[int]] | None = None) -> Any:
    """A scheduler's output for a decode step, as far as the runner reads it: how many tokens of each running request are `computed`, the
    requests that are `new`, and the `blocks` that running ones get."""
    blocks = blocks or {}
    tokens = dict.fromkeys((*computed, *(one.req_id for one in new)), 1)
    return SimpleNamespace(
        scheduled_new_reqs=list(new),
        scheduled_cached_reqs=SimpleNamespace(
            req_ids=list(computed),
            num_computed_tokens=list(computed.values()),
            new_block_ids=[(list(blocks[name]),) if name in blocks else None for name in computed],
        ),
        num_scheduled_tokens=tokens,
        total_num_scheduled_tokens=len(tokens),
        scheduled_spec_decode_tokens={},
        finished_req_ids=set(),
        preempted_req_ids=set(),
        free_encoder_mm_hashes=[],
        has_structured_output_requests=False,
        new_block_ids_to_zero=[],
        kv_cache_block_copies=[],
    )


def prepared(runner: Any, output: Any) -> Any:
    """A step up to the model, as `execute_model` takes it: requests added and updated, block tables written, inputs laid out."""
    from vllm.config import CUDAGraphMode

    described = find("vllm.v1.worker.gpu.cudagraph_utils:BatchExecutionDescriptor")
    runner.finish_requests(output)
    runner.free_states(output)
    runner.add_requests(output)
    runner.update_requests(output)
    runner.block_tables.apply_staged_writes()
    descriptor = described(cg_mode=CUDAGraphMode.NONE, num_tokens=output.total_num_scheduled_tokens, num_reqs=None)
    given: dict[str, Any] = {"scheduler_output": output, "batch_desc": descriptor, "num_active_loras": 0}
    if hasattr(runner, "gather_batch_req_state"):
        given["batch_req_state"], _ = runner.gather_batch_req_state(output, False)
    batch = runner.prepare_inputs(**accepted(runner.prepare_inputs, **given))
    runner.prepare_attn(batch)
    return batch
