"""A model runner without a model: what of a step a worker's host does before the model, on vLLM's own runner for the CPU.

The methods that are measured belong to `GPUModelRunner`, which the CPU's runner inherits; on a CPU the device's tensors are the host's.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import find

TOKEN = 7
"""What every request samples at every step."""


class Stepping:
    """A scheduler and a runner whose requests decode. At each step `turnover` requests end and as many are admitted, none if it is 0."""

    def __init__(self, requests: int, prompt_tokens: int, turnover: int, steps: int, seed: int) -> None:
        blocks = (requests + turnover) * ((prompt_tokens + steps) // engine.BLOCK_SIZE + 3)
        self.config = engine.vllm_config(
            max_num_seqs=requests,
            max_model_len=prompt_tokens + steps + 64,
            max_num_batched_tokens=max(8_192, requests * (prompt_tokens + 16)),
        )
        self.prompt_tokens, self.turnover, self.seed = prompt_tokens, turnover, seed
        self.scheduler = engine.scheduler(self.config, num_blocks=blocks)
        self.runner = cpu_runner(self.config, engine.kv_cache_config(blocks))
        self.made = 0
        self.running: list[Any] = []
        self.scheduled: Any = None
        self._admit(requests)
        for _ in range(2):
            self.schedule()
            self.update_states()

    def schedule(self) -> None:
        """The scheduler's part of the next step, and what the step before sampled, kept by both."""
        if self.scheduled is not None:
            self._keep_tokens()
            self.scheduler.update_from_output(self.scheduled, engine.runner_output(self.scheduled, lambda _: TOKEN))
            self._turn_over()
        self.scheduled = self.scheduler.schedule()

    def update_states(self) -> None:
        self.runner._update_states(self.scheduled)

    def tokens(self) -> Any:
        """Scheduled tokens of each row, int32 of shape (rows,)."""
        import numpy as np

        return np.array([self.scheduled.num_scheduled_tokens[name] for name in self.runner.input_batch.req_ids], dtype=np.int32)

    def _keep_tokens(self) -> None:
        batch = self.runner.input_batch
        for row, name in enumerate(batch.req_ids):
            length = int(batch.num_tokens_no_spec[row])
            batch.token_ids_cpu[row, length] = TOKEN
            batch.num_tokens_no_spec[row] = length + 1
            self.runner.requests[name].output_token_ids.append(TOKEN)

    def _turn_over(self) -> None:
        if self.turnover:
            status = find("vllm.v1.request:RequestStatus").FINISHED_ABORTED
            ended, self.running = self.running[: self.turnover], self.running[self.turnover :]
            self.scheduler.finish_requests([request.request_id for request in ended], status)
            self._admit(self.turnover)

    def _admit(self, count: int) -> None:
        for _ in range(count):
            length = self.prompt_tokens + self.made % 16
            request = engine.request(f"r{self.made}", engine.token_ids(length, self.seed + self.made))
            self.made += 1
            self.running.append(request)
            self.scheduler.add_request(request)


def cpu_runner(config: Any, kv_cache_config: Any) -> Any:
    """vLLM's runner for the CPU, without a model."""
    import torch
    from vllm.config import set_current_vllm_config

    made = find("vllm.v1.worker.cpu_model_runner:CPUModelRunner")
    with set_current_vllm_config(config):
        _alone()
        _load_kernels()
        runner = made(config, torch.device("cpu"))
    runner.kv_cache_config = kv_cache_config
    return runner


@functools.cache
def _load_kernels() -> None:
    """Loads vLLM's operators for the CPU, and has them stand for Triton's kernels, as a worker does where it begins."""
    from vllm.platforms import current_platform

    for name in ("import_kernels", "register_triton_kernel_overrides"):
        load = getattr(current_platform, name, None)  # a platform answers None to a name that its release lacks
        if load is not None:
            with engine.kernels_looked_for():
                load()


@functools.cache
def _alone() -> None:
    """Makes this process the only one of its groups, as a worker of one device is."""
    from vllm.distributed import ensure_model_parallel_initialized, init_distributed_environment

    init_distributed_environment(1, 0, f"file://{Path(engine.lasting_folder('store'), 'store')}", 0, "gloo")
    ensure_model_parallel_initialized(1, 1)
