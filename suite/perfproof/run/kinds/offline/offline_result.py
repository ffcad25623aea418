"""What `vllm bench latency` and `vllm bench throughput` wrote becomes measurements in base units and counts of work.

Neither file tells how long outputs were. A batch's outputs take an engine step a token, which the engine's processes counted; the tokens
of a throughput run stand in what it printed. Where they fell short, the run measured something else.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfproof.model.kinds.offline import OfflineWorkload
from perfproof.model.scenarios.scenario import LEAST_SECONDS, Profile

BATCH, OUTPUT = 8, 128
"""vLLM's own defaults of `--batch-size` and `--output-len` in `bench latency`."""
WARM_UPS = 10
"""vLLM's own default of `--num-iters-warmup`."""
SEVERAL_A_STEP = ("--speculative", "--num-speculative", "--num-scheduler-steps", "-sc")
"""How flags begin with which a step of the engine may make several tokens of an output."""
UNCOUNTED = "how many tokens were made is not known: outputs that ended early would not have shown"
"""What makes one doubt a run whose steps or tokens nobody counted."""
_MADE = re.compile(r"Total num output tokens:\s+(\d+)")
FIXED = {"random": "random-output-len", "prefix_repetition": "prefix-repetition-output-len"}
"""The flag that names the one length of a data set's outputs."""


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


def latency_fault(found: OfflineResult, workload: OfflineWorkload, words: Sequence[str], steps: int) -> str:
    """Why the batches of `bench latency` did not make the tokens asked for, by the steps that its engine took; "" if they may have.

    `words` are all flags of the command; `steps` is 0 where nothing counted them.
    """
    asked, batches = workload.arguments.get("num-iters"), found.work["batches"]
    if asked is not None and batches != int(asked):
        return f"{batches} batches were measured, {int(asked)} were asked for"
    length = int(workload.arguments.get("output-len", OUTPUT))
    least = (batches + int(workload.arguments.get("num-iters-warmup", WARM_UPS))) * length
    if not steps or steps >= least or any(word.startswith(SEVERAL_A_STEP) for word in words):
        return ""
    return f"the engine took {steps:,} steps, outputs of {length} tokens take {least:,}: they were shorter than asked for"


def made_by(log: str) -> int | None:
    """The output tokens that `bench throughput` printed; None where it did not."""
    found = _MADE.findall(log)
    return int(found[-1]) if found else None


def throughput_fault(found: OfflineResult, workload: OfflineWorkload, made: int | None) -> str:
    """Why the requests of `bench throughput` did not make the tokens asked for; "" if they did, or nobody counted them."""
    said, requests = workload.arguments, found.work["requests"]
    if "num-prompts" in said and not said.get("no-oversample") and requests != int(said["num-prompts"]):
        return f"{requests} requests were measured, {int(said['num-prompts'])} were asked for"
    if made is None:
        return ""
    outputs, length = requests * int(said.get("n", 1)), said.get(FIXED.get(str(said.get("dataset-name")), ""))
    if length is not None and str(said.get("random-range-ratio", 0)) in ("0", "0.0") and made != outputs * int(length):
        return f"{made:,} output tokens were made, {outputs} outputs of {int(length)} tokens were asked for"
    return f"{made} output tokens of {outputs} outputs: some hold none" if made < outputs else ""


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
