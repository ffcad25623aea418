"""A benchmark on the real InputBatch that tells what a trial finds when it starts, and leaves as much behind as it can."""

from __future__ import annotations

import os
import random
import threading
from typing import Any

import numpy

from perfproof.bench import adapter

PARAMETERS = {"rounds": 2, "warmup_rounds": 1, "seed": 7}
EXERCISES = ("vllm.v1.worker.gpu_input_batch:InputBatch.swap_states",)
WITNESSES = ("bytes_per_swap",)


def found_here() -> dict[str, Any]:
    import torch
    import vllm.envs
    from vllm.v1.worker import gpu_input_batch

    return {
        "left": hasattr(gpu_input_batch, "left_behind"),
        "attribute": hasattr(gpu_input_batch.InputBatch, "left_behind"),
        "variable": os.environ.get("VLLM_LEFT_BEHIND", ""),
        "plugins": vllm.envs.VLLM_PLUGINS,
        "random": [random.random(), float(numpy.random.rand()), float(torch.rand(1))],
        "dtype": str(torch.get_default_dtype()),
        "threads": [threading.active_count(), torch.get_num_threads()],
        "batches": sum(isinstance(one, gpu_input_batch.InputBatch) for one in __import__("gc").get_objects()),
    }


def test_leaks(benchmark: Any, parameters: dict[str, Any]) -> None:
    import torch
    from vllm.v1.worker import gpu_input_batch

    found = found_here()
    gpu_input_batch.left_behind = [adapter.input_batch(max_num_reqs=4, max_model_len=128)]
    gpu_input_batch.InputBatch.left_behind = True
    os.environ["VLLM_LEFT_BEHIND"] = "yes"
    (torch.rand(600, 600) @ torch.rand(600, 600)).sum()

    batch = adapter.input_batch(max_num_reqs=4, max_model_len=128)
    for n in range(2):
        batch.add_request(adapter.cached_request(f"r{n}", [1] * (10 + n)))
    rounds, warmups = parameters["rounds"], parameters["warmup_rounds"]
    benchmark.pedantic(lambda: batch.swap_states(0, 1), rounds=rounds, warmup_rounds=warmups, iterations=1)
    torch.set_default_dtype(torch.float64)
    benchmark.extra_info["parameters"] = parameters
    benchmark.extra_info["leftovers"] = found
    benchmark.extra_info["work"] = {"swaps": rounds + warmups}
