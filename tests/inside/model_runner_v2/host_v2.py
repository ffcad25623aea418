"""Model Runner V2's objects on a CPU: buffers that the device would see lie on the host, and no kernel is launched.

What V2's host does is then vLLM's own code, with vLLM's own arguments; what the device would compute stays as it was. Writes that are
staged for the device are carried out on the host, as the kernel would.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

import pytest

from perfproof.bench import runner_v2

ROOM = "vllm.v1.worker.gpu."
MODULES = (
    "buffer_utils",
    "block_table",
    "input_batch",
    "model_runner",
    "sample.bad_words",
    "sample.gumbel",
    "sample.logit_bias",
    "sample.logprob",
    "sample.min_p",
    "sample.penalties",
    "sample.sampler",
    "sample.thinking_budget",
    "spec_decode.rejection_sampler",
    "spec_decode.rejection_sampler_utils",
)


class NotLaunched:
    """Stands for a Triton kernel."""

    def __getitem__(self, grid: Any) -> Any:
        return lambda *arguments, **named: None


def host_buffer(upstream: Any) -> type:
    """What stands for a buffer that the device sees, `upstream`: its `uva` is an array, or from 0.31.0 on a method that gives one."""
    import torch

    class HostBuffer:
        def __init__(self, size: Any, dtype: Any) -> None:
            self.cpu = torch.zeros(size, dtype=dtype)
            self.np = self.cpu.numpy()
            if not inspect.isfunction(inspect.getattr_static(upstream, "uva", None)):
                self.uva = self.cpu

    class HostBufferOfMethods(HostBuffer):
        def uva(self, n: int | None = None) -> Any:
            return self.cpu if n is None else self.cpu[:n]

    return HostBufferOfMethods if inspect.isfunction(inspect.getattr_static(upstream, "uva", None)) else HostBuffer


def written(tensor: Any) -> None:
    """`StagedWriteTensor.apply_write` without a kernel."""
    begin = 0
    for row, start, end in zip(tensor._staged_write_indices, tensor._staged_write_starts, tensor._staged_write_cu_lens, strict=True):
        flat = tensor.gpu[row : row + 1] if tensor.gpu.dim() == 1 else tensor.gpu[row]
        flat[start : start + end - begin] = flat.new_tensor(tensor._staged_write_contents[begin:end])
        begin = end
    tensor.clear_staged_writes()


def on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets this process make and drive V2's objects without a GPU."""
    import torch

    for name in MODULES:
        try:
            module = importlib.import_module(ROOM + name)
        except ModuleNotFoundError as error:
            if error.name != ROOM + name:
                raise
            continue
        for attribute in [attribute for attribute in vars(module) if attribute.endswith("_kernel")]:
            monkeypatch.setattr(module, attribute, NotLaunched())
        copy = getattr(module, "async_tensor_h2d", None)
        if copy is not None and "pin_memory" in inspect.signature(copy).parameters:  # up to 0.23 it pins unless told not to
            monkeypatch.setattr(module, "async_tensor_h2d", functools.partial(copy, pin_memory=False))
    monkeypatch.setattr("vllm.triton_utils.triton.next_power_of_2", lambda n: 1 << (n - 1).bit_length(), raising=False)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self, *_: self)
    buffers = importlib.import_module(ROOM + "buffer_utils")
    monkeypatch.setattr(buffers, "UvaBuffer", host_buffer(buffers.UvaBuffer))
    monkeypatch.setattr(buffers.StagedWriteTensor, "apply_write", written)
    if hasattr(buffers, "FusedStagedWriter"):
        monkeypatch.setattr(buffers.FusedStagedWriter, "apply", lambda self, tensors, *rest: [written(one) for one in tensors])
    monkeypatch.setattr(runner_v2, "device", lambda: torch.device("cpu"))
