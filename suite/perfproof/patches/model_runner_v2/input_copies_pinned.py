"""Model Runner V2 copies a step's inputs to the device from pinned memory.

`async_copy_to_gpu` hands the driver two ordinary arrays a step, the requests' slots and the starts of their queries, and asks for an
asynchronous copy. From memory that is not pinned, the driver first copies into a buffer of its own, and may make the host wait for it. vLLM
pinned here, stopped doing so (#37006: pinning stalled under load), and pins again from 0.24.0 on. This is the later way, on 0.22.0.

The same bytes arrive: only where they lie on the host differs. PyTorch's allocator of pinned memory keeps a block until the copy out of it
has ended. `fast` counts the copies from pinned memory, `fallback` those whose source was pinned already or for a device without CUDA.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from perfproof.patches.guard import Patch, Target, counter, original_of

COPY = Target("vllm.v1.worker.gpu.buffer_utils", "async_copy_to_gpu", {"0.22.0": "c3024ba6d6c83cff"})

PATCH = Patch(
    name="input_copies_pinned",
    direction="adds",
    summary="copies a step's inputs to the device from pinned memory",
    origin="https://github.com/vllm-project/vllm/pull/37006, taken back as in 0.24.0",
    holds={release: frozenset({"cuda"}) for release in COPY.sources},
    targets=(COPY,),
)


def pinning(upstream: Callable[..., Any], pin: Callable[[Any], Any], name: str = PATCH.name) -> Callable[..., Any]:
    """An `async_copy_to_gpu` that gives upstream's a pinned copy of its source. `pin` makes it of a tensor."""
    import numpy as np
    import torch

    fast, fallback = counter(f"fast {name}"), counter(f"fallback {name}")

    @functools.wraps(upstream)
    def async_copy_to_gpu(x: Any, out: Any = None, device: Any = None) -> Any:
        source = torch.from_numpy(x) if isinstance(x, np.ndarray) else x
        target = device if out is None else out.device
        if source.is_pinned() or target is None or torch.device(target).type != "cuda":
            fallback.add()
            return upstream(x, out, device)
        fast.add()
        return upstream(pin(source), out, device)

    return async_copy_to_gpu


def replacements() -> Mapping[str, Callable[..., Any]]:
    return {COPY.qualname: pinning(original_of(COPY), lambda tensor: tensor.pin_memory())}


def register() -> None:
    PATCH.apply(replacements)
