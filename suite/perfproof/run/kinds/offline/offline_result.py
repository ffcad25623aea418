"""Turns the result files of `vllm bench latency` and `vllm bench throughput` into measurements in base units and counts of work.

Neither file says how long outputs were. A batch takes one engine step per output token, and the engine's processes counted the steps. A
throughput run prints its tokens. If there are too few, the run measured something else.
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
"""Prefixes of flags that let one engine step make several tokens of an output."""
UNCOUNTED = "the number of output tokens is unknown: outputs that ended early would not show"
"""The warning for a run whose steps or tokens were not counted."""
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


def read_latency(payload: Mapping[str, Any], workload: OfflineWorkload, profile: Profile) -> OfflineResult:
    """The content of `bench latency`'s file. Raises `KeyError` for another file."""
    times = [float(f"{value:.6g}") for value in payload["latencies"]]
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


def latency_fault(result: OfflineResult, workload: OfflineWorkload, words: Sequence[str], steps: int) -> str:
    """Why the batches of `bench latency` can't have made the tokens asked for, judged by the engine's steps; "" if they may have.

    `words` are all flags of the command; `steps` is 0 where they were not counted.
    """
    wanted, batches = workload.arguments.get("num-iters"), result.work["batches"]
    if wanted is not None and batches != int(wanted):
        return f"{batches} batches were measured, not the {int(wanted)} asked for"
    length = int(workload.arguments.get("output-len", OUTPUT))
    least = (batches + int(workload.arguments.get("num-iters-warmup", WARM_UPS))) * length
    if not steps or steps >= least or any(word.startswith(SEVERAL_A_STEP) for word in words):
        return ""
    return f"the engine took {steps:,} steps, but outputs of {length} tokens take {least:,}: the outputs were shorter than asked for"


def made_by(log: str) -> int | None:
    """The number of output tokens that `bench throughput` printed; None where it printed none."""
    counts = _MADE.findall(log)
    return int(counts[-1]) if counts else None


def throughput_fault(result: OfflineResult, workload: OfflineWorkload, made: int | None) -> str:
    """Why the requests of `bench throughput` did not make the tokens asked for; "" if they did, or the tokens were not counted."""
    arguments, requests = workload.arguments, result.work["requests"]
    if "num-prompts" in arguments and not arguments.get("no-oversample") and requests != int(arguments["num-prompts"]):
        return f"{requests} requests were measured, not the {int(arguments['num-prompts'])} asked for"
    if made is None:
        return ""
    outputs, length = requests * int(arguments.get("n", 1)), arguments.get(FIXED.get(str(arguments.get("dataset-name")), ""))
    if length is not None and str(arguments.get("random-range-ratio", 0)) in ("0", "0.0") and made != outputs * int(length):
        return f"{made:,} output tokens were made, not the {outputs} outputs of {int(length)} tokens asked for"
    return f"{made} output tokens in {outputs} outputs: some outputs are empty" if made < outputs else ""


def read_throughput(payload: Mapping[str, Any], workload: OfflineWorkload, profile: Profile) -> OfflineResult:
    """The content of `bench throughput`'s file. Raises `KeyError` for another file."""
    seconds = float(payload["elapsed_time"])
    return OfflineResult(
        measurements={
            "request_throughput": float(payload["requests_per_second"]),
            "total_token_throughput": float(payload["tokens_per_second"]),
            "duration": seconds,
        },
        raw={},
        work={"requests": int(payload["num_requests"]), "tokens": int(payload["total_num_tokens"])},
        seconds=seconds,
        warnings=_short(seconds, "num-prompts", profile),
    )


def _short(seconds: float, flag: str, profile: Profile) -> tuple[str, ...]:
    least = LEAST_SECONDS[profile]
    return () if seconds >= least else (f"measured for {seconds:.1f} s only; {profile} needs {least:.0f} s: raise '{flag}'",)
