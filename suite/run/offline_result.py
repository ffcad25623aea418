"""What `vllm bench latency` and `vllm bench throughput` wrote becomes measurements in base units and counts of work."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suite.model.scenario import LEAST_SECONDS, OfflineWorkload, Profile

BATCH, OUTPUT = 8, 128
"""vLLM's own defaults of `--batch-size` and `--output-len` in `bench latency`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineResult:
    """One run: `measurements` by the names of the registry, `raw` one value a batch in seconds, `seconds` what was measured."""

    measurements: Mapping[str, float]
    raw: Mapping[str, Sequence[float]]
    work: Mapping[str, int]
    seconds: float
    warnings: tuple[str, ...]


def read_latency(said: Mapping[str, Any], workload: OfflineWorkload, profile: Profile) -> OfflineResult:
    """The content of `bench latency`'s file. Raises `KeyError` for one that is not one."""
    times = [float(f"{value:.6g}") for value in said["latencies"]]
    batch, length = int(workload.arguments.get("batch-size", BATCH)), int(workload.arguments.get("output-len", OUTPUT))
    tokens, seconds = batch * length * int(workload.arguments.get("n", 1)), sum(times)
    return OfflineResult(
        measurements={
            "batch_latency": statistics.median(times),
            "output_throughput": tokens * len(times) / seconds,
            "duration": seconds,
        },
        raw={"batch_latency": times},
        work={"batches": len(times), "output_tokens": tokens * len(times)},
        seconds=seconds,
        warnings=_short(seconds, "num-iters", profile),
    )


def read_throughput(said: Mapping[str, Any], workload: OfflineWorkload, profile: Profile) -> OfflineResult:
    """The content of `bench throughput`'s file. Raises `KeyError` for one that is not one."""
    seconds = float(said["elapsed_time"])
    return OfflineResult(
        measurements={
            "request_throughput": float(said["requests_per_second"]),
            "total_token_throughput": float(said["tokens_per_second"]),
            "duration": seconds,
        },
        raw={},
        work={"requests": int(said["num_requests"]), "tokens": int(said["total_num_tokens"])},
        seconds=seconds,
        warnings=_short(seconds, "num-prompts", profile),
    )


def _short(seconds: float, flag: str, profile: Profile) -> tuple[str, ...]:
    least = LEAST_SECONDS[profile]
    return () if seconds >= least else (f"measured for {seconds:.1f} s only; {profile} asks for {least:.0f} s: raise '{flag}'",)
