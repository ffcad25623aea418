"""The cost of a step of Model Runner V2's sampler, and the memory that it allocates for a copy of the logits (CUDA).

Workload: `rows` requests with one logit row each over a vocabulary of 151,936, as in the author's model;
bf16 logits; by default greedy, where nothing changes the logits and the copy is useless. Other values of
`temperature`, `top_k`, `top_p` show the path that has to copy. One round is `calls` calls and one
synchronisation; pytest-benchmark's figure is the host's wall time of a round, and `measurements` has the
device's time of one call, between CUDA events.

The witness is the memory that `apply_sampling_params` requests at its peak, in bytes: `4 * rows *
vocabulary` where it copies, 0 where it does not. Requested bytes are exact; allocated ones would be
rounded up to the allocator's blocks. Needs a GPU: the sampler's kernels are Triton's and its state is
pinned memory seen by the device.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import pytest

from perfproof.bench.adapter import absent, accepted, find

PARAMETERS = {
    "rows": 128,
    "vocab_size": 151_936,
    "dtype": "bfloat16",
    "temperature": 0.0,
    "top_k": 0,
    "top_p": 1.0,
    "call": "sample",
    "calls": 20,
    "rounds": 40,
    "warmup_rounds": 5,
    "seed": 7,
}
LEAST = {"top_k": -1}
CHOICES = {"dtype": ("bfloat16", "float16", "float32"), "call": ("sample", "apply_sampling_params")}
EXERCISES = (
    "vllm.v1.worker.gpu.sample.sampler:Sampler.apply_sampling_params",
    "vllm.v1.worker.gpu.sample.sampler:Sampler.sample",
)
TIMES = ("round_time", "device_time")
WITNESSES = ("bytes_allocated_per_step",)
COUNT_AT = {"rows": 16}

SAMPLER = "vllm.v1.worker.gpu.sample.sampler:Sampler"
APPLY = f"{SAMPLER}.apply_sampling_params"
PROMPT = (11, 12, 13, 14)


def needs_cuda() -> None:
    """Skips without a GPU that PyTorch can use."""
    import torch

    if not torch.cuda.is_available():
        pytest.skip("Model Runner V2's sampler needs CUDA: its kernels are Triton's and its state is pinned memory that the device sees")


def request_states(*, max_num_reqs: int, vocab_size: int, device: Any, max_model_len: int = 64, num_speculative_steps: int = 1) -> Any:
    """Model Runner V2's `RequestState`, small in tokens."""
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
    """A `Sampler` (or a subclass) over those states; skips in releases that need a whole vLLM configuration."""
    import inspect

    if "vllm_config" in inspect.signature(kind.__init__).parameters:
        absent("Sampler that can be built without a VllmConfig")
    return kind(
        **accepted(
            kind.__init__, max_num_reqs=states.max_num_reqs, vocab_size=states.vocab_size, device=states.device, req_states=states, **more
        )
    )


def add_request(sampler: Any, states: Any, req_id: str, sampling_params: Any, tokens: tuple[int, ...] = PROMPT) -> int:
    """Puts a request into a free slot of both; returns the slot."""
    states.add_request(
        **accepted(
            states.add_request, req_id=req_id, prompt_len=len(tokens), all_token_ids=list(tokens), num_computed_tokens=0, max_tokens=16
        )
    )
    slot = int(states.req_id_to_index[req_id])
    sampler.add_request(**accepted(sampler.add_request, req_idx=slot, prompt_len=len(tokens), sampling_params=sampling_params))
    return slot


def step_arguments(slots: list[int], *, vocab_size: int, dtype: Any, device: Any, seed: int) -> dict[str, Any]:
    """The sampler's arguments in a decode step: one logit row per request, in the order of `slots`."""
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
        "pos": torch.full((rows,), len(PROMPT), dtype=torch.int64, device=device),
        "input_ids": torch.full((rows,), PROMPT[-1], dtype=torch.int32, device=device),
        "expanded_local_pos": torch.zeros(rows, dtype=torch.int32, device=device),
    }


def build(parameters: dict[str, Any], device: Any) -> tuple[Any, dict[str, Any]]:
    """A sampler full of requests, and the arguments of a step over all of them."""
    import torch
    from vllm import SamplingParams

    states = request_states(max_num_reqs=parameters["rows"], vocab_size=parameters["vocab_size"], device=device)
    sampler = build_sampler(find(SAMPLER), states)
    slots = []
    for i in range(parameters["rows"]):
        wanted = SamplingParams(
            temperature=parameters["temperature"],
            top_k=parameters["top_k"],
            top_p=parameters["top_p"],
            seed=parameters["seed"] + i,
        )
        slots.append(add_request(sampler, states, f"r{i}", wanted))
    states.apply_staged_writes()
    sampler.apply_staged_writes()
    arguments = step_arguments(
        slots,
        vocab_size=parameters["vocab_size"],
        dtype=getattr(torch, parameters["dtype"]),
        device=device,
        seed=parameters["seed"],
    )
    return sampler, arguments


def requested_bytes(call: Callable[[], Any]) -> int:
    """Bytes that a call requests from PyTorch's CUDA allocator at its peak, beyond those in use before."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_stats()["requested_bytes.all.current"]
    result = call()
    torch.cuda.synchronize()
    peak = torch.cuda.memory_stats()["requested_bytes.all.peak"]
    del result
    return int(peak - before)


def counted_round(parameters: dict[str, Any]) -> Callable[[], Any]:
    """One call of a sampler of its own, for its work to be counted."""
    needs_cuda()
    import torch

    find(APPLY)
    sampler, arguments = build(parameters, torch.device("cuda"))
    function = getattr(sampler, parameters["call"])
    given = accepted(function, **arguments)
    return lambda: function(**given)


def test_sampler_copy(benchmark: Any, parameters: dict[str, Any]) -> None:
    """One step of the sampler over a batch in which, by default, no request changes its logits."""
    needs_cuda()
    import torch

    find(APPLY)
    sampler, arguments = build(parameters, torch.device("cuda"))
    function = getattr(sampler, parameters["call"])
    call_arguments = accepted(function, **arguments)
    apply_arguments = accepted(sampler.apply_sampling_params, **arguments)
    device_seconds: list[float] = []

    def run() -> None:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(parameters["calls"]):
            function(**call_arguments)
        end.record()
        torch.cuda.synchronize()
        device_seconds.append(start.elapsed_time(end) / 1000 / parameters["calls"])

    sampler.apply_sampling_params(**apply_arguments)
    allocated = requested_bytes(lambda: sampler.apply_sampling_params(**apply_arguments))
    sampled, _ = sampler.sample(**accepted(sampler.sample, **arguments))

    benchmark.pedantic(run, rounds=parameters["rounds"], warmup_rounds=parameters["warmup_rounds"], iterations=1)
    benchmark.extra_info["parameters"] = parameters
    benchmark.extra_info["witnesses"] = {"bytes_allocated_per_step": allocated}
    benchmark.extra_info["measurements"] = {"device_time": statistics.median(device_seconds[parameters["warmup_rounds"] :])}
    weights = torch.arange(1, sampled.numel() + 1, device=sampled.device)
    benchmark.extra_info["work"] = {
        "calls": parameters["calls"],
        "logit_rows": parameters["rows"],
        "sampled_checksum": int((sampled.view(-1) * weights).sum()),
    }
