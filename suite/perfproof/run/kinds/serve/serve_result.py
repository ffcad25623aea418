"""Turns the result file of `vllm bench serve` into measurements in base units, counts of work, and faults.

Pure functions over the JSON of `--save-result --save-detailed`. A run with a failed request, or with other output lengths than were asked
for, is no measurement: vLLM's own means leave out the requests that failed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfproof.model.kinds.serve import ServeWorkload, arrival_rate, one_wave, requests_for
from perfproof.model.scenarios.metrics import METRICS
from perfproof.model.scenarios.scenario import LEAST_SECONDS, Profile
from perfproof.run.kinds.serve import output_lengths

MOST_GAPS = 401
"""Gaps between tokens that a record keeps at most: there are as many as tokens, and only their distribution is shown."""
BUSY_CLIENT = 0.9
"""The client's CPU time over the measured time from which the client may be the bottleneck."""
SMALL_BATCH = 0.5
"""If fewer than this share of the engine's steps were needed, the requests did not run together. A step can make a token for every request
that was to run at once, and no output takes fewer steps than it has tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """One measured run.

    `measurements` are in seconds, tok/s and req/s by the names of the metric registry; `raw` is one value per
    request (gaps between tokens: see `_raw`), in seconds; `longest` is the tokens of the longest output, 0 where unknown. `fault` says
    why the run is no measurement, "" if it is one.
    """

    measurements: Mapping[str, float]
    raw: Mapping[str, Sequence[float]]
    work: Mapping[str, int]
    seconds: float
    longest: int
    fault: str


def read_result(
    payload: Mapping[str, Any], workload: ServeWorkload, *, requested: Sequence[int] | None = None, ignored: bool | None = None
) -> BenchResult:
    """The result file's content as measurements. Raises `KeyError` or `TypeError` for another file.

    The client noted `requested`, the tokens that each request asked for, and `ignored`, whether the end of a sequence was ignored; None
    where it could not.
    """
    duration = float(payload["duration"])
    rates = {name: float(payload[name]) for name, row in METRICS.items() if row.kind == "rate" and payload.get(name) is not None}
    times = {name: float(payload[f"{name}_ms"]) / 1e3 for name in METRICS if payload.get(f"{name}_ms") is not None}
    return BenchResult(
        measurements={"duration": duration, **rates, **times},
        raw=_raw(payload),
        work=_work(payload),
        seconds=duration,
        longest=max(payload.get("output_lens") or (0,)),
        fault=_fault(payload, workload) or output_lengths.fault(payload.get("output_lens"), workload, requested, ignored),
    )


def _work(payload: Mapping[str, Any]) -> dict[str, int]:
    counted = {"requests": payload["completed"], "input_tokens": payload["total_input_tokens"]}
    if "total_output_tokens" in payload:
        counted["output_tokens"] = payload["total_output_tokens"]
    if payload.get("output_lens"):
        counted["output_lengths_checksum"] = output_lengths.checksum(payload["output_lens"])
    return {name: int(value) for name, value in counted.items()}


def _raw(payload: Mapping[str, Any]) -> dict[str, list[float]]:
    """Time to first token, time per output token after it, and end-to-end latency of every request; some hundreds of the gaps between
    tokens of all requests, in ascending order. All to six digits."""
    raw: dict[str, list[float]] = {}
    first = payload.get("ttfts")
    if first:
        raw["ttft"] = [_short(value) for value in first]
    gaps, made = payload.get("itls"), payload.get("output_lens")
    if gaps and made:
        raw["tpot"] = [_short(sum(of_request) / (length - 1)) for of_request, length in zip(gaps, made, strict=True) if length > 1]
    if gaps and any(gaps):
        raw["itl"] = [_short(gap) for gap in thinned(sorted(gap for of_request in gaps for gap in of_request))]
    ends = payload.get("latencies") or (
        [start + sum(of_request) for start, of_request in zip(first, gaps, strict=True)] if first and gaps else ()
    )
    if ends:
        raw["e2el"] = [_short(value) for value in ends]
    return raw


def thinned(ordered: Sequence[float], most: int = MOST_GAPS) -> list[float]:
    """At most `most` of the ordered values, evenly chosen and with both ends: the same distribution in fewer values."""
    if len(ordered) <= most:
        return list(ordered)
    return [ordered[round(place * (len(ordered) - 1) / (most - 1))] for place in range(most)]


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _fault(payload: Mapping[str, Any], workload: ServeWorkload) -> str:
    wanted, completed = workload.requests, int(payload["completed"])
    failed = int(payload.get("failed", wanted - completed))
    if failed or completed != wanted:
        first = next((error.strip().splitlines()[-1] for error in payload.get("errors") or () if error and error.strip()), "")
        return f"{completed} of {wanted} requests completed, {failed} failed" + (f" (the first: {first[:200]})" if first else "")
    return ""


def warnings_for(
    workload: ServeWorkload, result: BenchResult, *, profile: Profile, client_load: float, server: Mapping[str, int], steps: int = 0
) -> list[str]:
    """The warnings for a run that counts.

    `client_load` is CPU time over wall time; `server` is the growth of its counters; `steps` are the engine's steps, 0 where unknown.
    """
    warnings = []
    wave, least = one_wave(workload.requests, workload.client), LEAST_SECONDS[profile]
    if result.seconds < least:
        more = requests_for(least, workload.requests, result.seconds, wave)
        warnings.append(f"measured for {result.seconds:.1f} s only; {profile} needs {least:.0f} s: longer outputs, or 'requests: {more}'")
    if wave is not None and workload.warmups < wave:
        warnings.append(f"{workload.warmups} warm-ups are less than one wave: {wave} requests run at once; set 'warmups: {wave}'")
    if client_load > BUSY_CLIENT:
        warnings.append(f"the client used {client_load:.0%} of a core: it may be the bottleneck; try '--stream-interval' on the server")
    if server.get("prefix_cache_hits"):
        warnings.append(f"{server['prefix_cache_hits']} prompt tokens came from the prefix cache and were not computed")
    if server.get("preemptions"):
        warnings.append(f"{server['preemptions']} requests were preempted: the KV cache is too small for this workload")
    together, made = wave if math.isinf(arrival_rate(workload.client)) else None, server.get("generation_tokens", 0)
    if made and together and max(made / together, result.longest) < SMALL_BATCH * steps:
        warnings.append(
            f"a step of the engine made {made / steps:.1f} tokens, but {together} requests were to run together: "
            "they ran in small batches, because the API server or the client waited for a core, or '--max-num-seqs' is smaller"
        )
    return warnings
