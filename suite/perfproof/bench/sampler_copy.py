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

from perfproof.bench.adapter import accepted, find
from perfproof.bench.rounds import time_rounds
from perfproof.bench.runner_v2 import SAMPLER, add_request, build_sampler, request_states, step_arguments
from perfproof.bench.runner_v2 import device as cuda

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

APPLY = f"{SAMPLER}.apply_sampling_params"


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
    find(APPLY)
    sampler, arguments = build(parameters, cuda())
    function = getattr(sampler, parameters["call"])
    given = accepted(function, **arguments)
    return lambda: function(**given)


def test_sampler_copy(benchmark: Any, parameters: dict[str, Any]) -> None:
    """One step of the sampler over a batch in which, by default, no request changes its logits."""
    import torch

    find(APPLY)
    sampler, arguments = build(parameters, cuda())
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

    time_rounds(benchmark, parameters, run, lambda: None)
    benchmark.extra_info["parameters"] = parameters
    benchmark.extra_info["witnesses"] = {"bytes_allocated_per_step": allocated}
    device_time = statistics.median(device_seconds[parameters["warmup_rounds"] :])
    benchmark.extra_info.setdefault("measurements", {})["device_time"] = device_time
    weights = torch.arange(1, sampled.numel() + 1, device=sampled.device)
    benchmark.extra_info["work"] = {
        "calls": parameters["calls"],
        "logit_rows": parameters["rows"],
        "sampled_checksum": int((sampled.view(-1) * weights).sum()),
    }
