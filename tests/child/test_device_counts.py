"""What a profile says of a GPU's work becomes counts by name."""

from __future__ import annotations

from typing import Any

import pytest

from perfproof.child.counting.device import RANGE, counted


def event(cat: str, name: str, ts: float, correlation: int = 0, size: int | None = None) -> dict[str, Any]:
    args: dict[str, Any] = {"correlation": correlation} | ({} if size is None else {"bytes": size})
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": 1.0, "args": args}


def trace(*events: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"ph": "X", "cat": "user_annotation", "name": RANGE, "ts": 10.0, "dur": 80.0}, *events]


def test_what_the_host_launched_inside_the_range_counts_wherever_the_device_ran_it() -> None:
    """A kernel belongs to its launch: one that ends after the range counts, one launched before it does not."""
    found = counted(
        trace(
            event("cuda_runtime", "cudaLaunchKernel", 5, correlation=1),
            event("kernel", "early", 20, correlation=1),
            event("cuda_runtime", "cudaLaunchKernel", 20, correlation=2),
            event("kernel", "late", 200, correlation=2),
            event("cuda_runtime", "cudaGraphLaunch", 30, correlation=3),
            event("kernel", "inner", 210, correlation=3),
            event("kernel", "inner", 211, correlation=3),
        )
    )
    assert found == {"call: cudaGraphLaunch": [1, 0], "kernel: late": [1, 0], "kernel: inner": [2, 0]}


def test_copies_have_their_bytes_and_waits_their_names() -> None:
    """A copy says from where to where and how much; every call that waits is named; a wait after the range is not one."""
    found = counted(
        trace(
            event("cuda_runtime", "cudaMemcpyAsync", 20, correlation=1),
            event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 21, correlation=1, size=512),
            event("cuda_runtime", "cudaMemcpyAsync", 22, correlation=2),
            event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 23, correlation=2, size=8),
            event("cuda_runtime", "cudaStreamSynchronize", 30),
            event("cuda_runtime", "cudaDeviceSynchronize", 95),
        )
    )
    assert found == {"copy: Memcpy HtoD (Pageable -> Device)": [2, 520], "call: cudaStreamSynchronize": [1, 0]}


def test_a_profile_without_its_range_is_a_fault() -> None:
    """Where the profiler dropped the range nothing is known, and that is no zero."""
    with pytest.raises(RuntimeError, match="left out the range"):
        counted([event("kernel", "some", 20, correlation=1)])
