"""What a trial cost the host, and what the server had to work with: pure functions over what was read of it.

The CPU time of the server's processes is what a patch of a hot path changes first: divided by what was done in it, the warm-ups
included in both, it says how much host work a token or a request takes, whatever the client waited for meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_BLOCKS = re.compile(r'^vllm:cache_config_info\{[^}]*num_gpu_blocks="(\d+)"', re.MULTILINE)


def per_unit(cpu_seconds: float, instructions: int | None, *, tokens: int, requests: int) -> dict[str, float]:
    """Host cost per output token and per request; what was not done or not counted is left out."""
    spent = {"cpu_time": cpu_seconds, **({} if instructions is None else {"instructions": float(instructions)})}
    done = {"token": tokens, "request": requests}
    return {f"{what}_per_{unit}": amount / count for what, amount in spent.items() for unit, count in done.items() if count > 0}


def kv_blocks(page: str) -> dict[str, float]:
    """The blocks of the KV cache, by the server's own metrics page, summed over its engines; empty for a server without a cache."""
    found = [int(number) for number in _BLOCKS.findall(page)]
    return {"kv_blocks": float(sum(found))} if any(found) else {}


def gpu_memory(told: Mapping[str, Any]) -> dict[str, float]:
    """The most bytes in use on our GPUs while measuring, from what was seen of them; empty where there is none."""
    used = [gpu["used"][1] for gpu in told.get("gpus", ()) if "used" in gpu]
    return {"peak_gpu_memory": float(sum(used))} if used else {}
