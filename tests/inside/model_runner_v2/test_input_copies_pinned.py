"""`input_copies_pinned`: the same bytes arrive at the device, from pinned memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from perfproof.patches.guard import counter, original_of, vllm_release
from perfproof.patches.model_runner_v2 import input_copies_pinned as patch


@pytest.fixture(scope="module")
def released() -> str:
    """The release that runs here; skips on those that the patch is not for."""
    release = vllm_release()
    if release not in patch.PATCH.holds:
        pytest.skip(f"the patch is for vLLM {', '.join(patch.PATCH.holds)}, this is {release}")
    return release


def arrays() -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(3)
    return [random.integers(0, 2**31 - 1, size=size).astype(np.int32) for size in (1, 2, 129, 1_025)]


def test_what_is_not_for_cuda_goes_upstreams_way(released: str) -> None:
    """On a CPU nothing is pinned: upstream's function gets its own arguments, and each call is a fallback."""
    import torch

    pinned: list[Any] = []
    copy = patch.pinning(original_of(patch.COPY), pinned.append, "test pinned")
    before = counter("fallback test pinned").value
    for array in arrays():
        out = torch.zeros(len(array) + 3, dtype=torch.int32)
        assert torch.equal(copy(array, device=torch.device("cpu")), torch.from_numpy(array))
        assert torch.equal(copy(array, out=out[: len(array)]), torch.from_numpy(array))
    assert pinned == []
    assert counter("fallback test pinned").value == before + 8


def test_holds_on_cuda_with_the_tested_source(released: str) -> None:
    assert patch.PATCH.faults(vllm_release(), "cuda") == []
    assert "tested on cuda" in patch.PATCH.faults(vllm_release(), "cpu")[0]


@pytest.mark.cuda
def test_the_same_bytes_arrive_from_pinned_memory(released: str) -> None:
    """On a GPU: new tensors and given ones get what upstream's copy gives, whatever happens to the source's copy afterwards; every source
    was pinned."""
    import torch

    upstream = original_of(patch.COPY)
    sources: list[Any] = []

    def pin(tensor: Any) -> Any:
        sources.append(tensor.pin_memory())
        return sources[-1]

    copy, device = patch.pinning(upstream, pin, "test pinned on cuda"), torch.device("cuda")
    before = counter("fast test pinned on cuda").value
    for array in arrays():
        want = upstream(array, device=device)
        assert torch.equal(copy(array, device=device), want)
        out = torch.zeros(len(array), dtype=torch.int32, device=device)
        assert copy(array, out=out) is out
        assert torch.equal(out, want)
    assert all(source.is_pinned() for source in sources)
    assert counter("fast test pinned on cuda").value == before + 8
    many = [copy(np.full(129, n, dtype=np.int32), device=device) for n in range(500)]
    assert [int(one[0]) for one in many] == list(range(500))
    assert all(bool((one == n).all()) for n, one in enumerate(many))
