"""A trial's cost on the host, and the server's KV cache and GPU memory: pure functions over readings.

A hot-path patch first changes the CPU time of the server's processes. Divided by the work done, with the warm-ups in both, it gives the
host work per token or request, whatever the client waited for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_BLOCKS = re.compile(r'^vllm:cache_config_info\{[^}]*num_gpu_blocks="(\d+)"', re.MULTILINE)


def per_unit(cpu_seconds: float, instructions: int | None, *, tokens: int, requests: int) -> dict[str, float]:
    """Host cost per output token and per request; a metric without a count is left out."""
    spent = {"cpu_time": cpu_seconds, **({} if instructions is None else {"instructions": float(instructions)})}
    done = {"token": tokens, "request": requests}
    return {f"{what}_per_{unit}": amount / count for what, amount in spent.items() for unit, count in done.items() if count > 0}


def kv_blocks(page: str) -> dict[str, float]:
    """The blocks of the KV cache from the server's own metrics page, summed over its engines; empty for a server without a cache."""
    blocks = [int(number) for number in _BLOCKS.findall(page)]
    return {"kv_blocks": float(sum(blocks))} if any(blocks) else {}


def gpu_memory(seen: Mapping[str, Any]) -> dict[str, float]:
    """The most bytes in use on our GPUs while measuring, from the samples; empty where there is no GPU."""
    used = [gpu["used"][1] for gpu in seen.get("gpus", ()) if "used" in gpu]
    return {"peak_gpu_memory": float(sum(used))} if used else {}
