"""What a piece of Python has a GPU do: kernels by name, copies and fills with their bytes, waits, graph launches, allocations.

PyTorch's profiler sees it, in a round of its own: its hooks cost time and run Python. Only what was launched between `start` and `stop`
counts. Kernels of a replayed CUDA graph count one by one, as the device ran them.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from perfproof.child.counting.tally import Tally

RANGE = "perfproof.counted"
"""The name of the range in the profile that is counted."""
LAUNCHES = ("kernel", "gpu_memcpy", "gpu_memset")
"""Categories of what the device does."""
CALLS = ("cuda_runtime", "cuda_driver")
"""Categories of what the host asks of the driver."""
GRAPH = "cudaGraphLaunch"
NAME = 200
"""Characters that are kept of a kernel's name: templates make them long."""


def has_device() -> bool:
    """Whether this process can use a GPU."""
    import torch

    return bool(torch.cuda.is_available())


class Device:
    """Counts what a GPU is asked to do between `start` and `stop`."""

    def __init__(self) -> None:
        self._profile: Any = None
        self._range: Any = None
        self._allocations = self._held = 0

    def start(self) -> None:
        import torch
        from torch.profiler import ProfilerActivity, profile, record_function

        torch.cuda.synchronize()
        self._profile = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        self._profile.__enter__()
        torch.cuda.reset_peak_memory_stats()
        self._held, self._allocations = torch.cuda.memory_allocated(), _allocations()
        self._range = record_function(RANGE)
        self._range.__enter__()

    def stop(self) -> Tally:
        """What was counted since `start`: a name's occurrences, and its bytes where it has any."""
        import torch

        self._range.__exit__(None, None, None)
        allocations = _allocations() - self._allocations
        peak = max(0, torch.cuda.max_memory_allocated() - self._held)
        torch.cuda.synchronize()  # what was launched ends inside the profile; it lies outside of the range
        self._profile.__exit__(None, None, None)
        found = counted(_events(self._profile))
        if allocations:
            found["allocator: requests"] = [allocations, peak]
        return Tally(device=found)


def _allocations() -> int:
    import torch

    return int(torch.cuda.memory_stats().get("allocation.all.allocated", 0))


def _events(profile: Any) -> list[dict[str, Any]]:
    handle, path = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    try:
        profile.export_chrome_trace(path)
        with open(path) as file:
            events: list[dict[str, Any]] = json.load(file)["traceEvents"]
    finally:
        os.unlink(path)
    return events


def counted(events: list[dict[str, Any]]) -> dict[str, list[int]]:
    """Occurrences and bytes by name, of a trace's events: what the host called inside the range, and what the device did because of it.

    An event of the device belongs to the call that launched it by its correlation number. Raises `RuntimeError` for a trace without range.
    """
    spans = [
        (float(one["ts"]), float(one["ts"]) + float(one["dur"]))
        for one in events
        if one.get("name") == RANGE and one.get("cat") == "user_annotation" and "dur" in one
    ]
    if not spans:
        raise RuntimeError("the profiler left out the range that is counted: what the device did is not known")
    begin, end = spans[0]
    calls = [one for one in events if one.get("cat") in CALLS and begin <= float(one["ts"]) <= end]
    launched = {_correlation(one) for one in calls}
    found: dict[str, list[int]] = {}
    for one in calls:
        if "Synchronize" in one["name"] or one["name"] == GRAPH:
            _add(found, f"call: {one['name']}", 0)
    for one in events:
        if one.get("cat") in LAUNCHES and _correlation(one) in launched:
            _add(found, _named(one), int(one.get("args", {}).get("bytes", 0)))
    return found


def _correlation(event: dict[str, Any]) -> Any:
    return event.get("args", {}).get("correlation")


def _named(event: dict[str, Any]) -> str:
    """`kernel: ...`, or `copy: Memcpy HtoD (Pageable -> Device)`."""
    kind = "kernel" if event["cat"] == "kernel" else "copy" if event["cat"] == "gpu_memcpy" else "fill"
    return f"{kind}: {event['name'][:NAME]}"


def _add(found: dict[str, list[int]], name: str, size: int) -> None:
    there = found.setdefault(name, [0, 0])
    there[0] += 1
    there[1] += size
