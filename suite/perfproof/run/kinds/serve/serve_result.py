"""What `vllm bench serve` wrote becomes measurements in base units, the counts of work, and what is wrong with it.

Pure functions over the JSON that `--save-result --save-detailed` leaves. A run with a failed request, or with
other output lengths than were asked for, is no measurement: the requests that failed are missing from vLLM's own means.
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
"""Gaps between tokens that a record keeps: there are as many as tokens, and their distribution is what is shown of them."""
BUSY_CLIENT = 0.9
"""Share of the measured time that the client's CPU time may take before it is suspected to be the bottleneck."""
SMALL_BATCH = 0.5
"""Share of the engine's steps that would have done, below which requests are taken not to have run together. A step can make a token for
every request that was to run at once, and no output is done in fewer steps than it has tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """One measured run.

    `measurements` are in seconds, tok/s and req/s by the names of the metric registry; `raw` is one value a
    request (gaps between tokens: see `_raw`), in seconds; `longest` the tokens of the longest output, 0 where none is told. `fault` says
    why the run is no measurement, "" if it is one.
    """

    measurements: Mapping[str, float]
    raw: Mapping[str, Sequence[float]]
    work: Mapping[str, int]
    seconds: float
    longest: int
    fault: str


def read_result(
    said: Mapping[str, Any], workload: ServeWorkload, *, asked: Sequence[int] | None = None, ignored: bool | None = None
) -> BenchResult:
    """The result file's content as measurements. Raises `KeyError` or `TypeError` for a file that is not one.

    `asked` and `ignored` are what the client noted of its requests: the tokens that each asked for, and whether the end of a sequence was
    ignored; None where it could not.
    """
    duration = float(said["duration"])
    rates = {name: float(said[name]) for name, row in METRICS.items() if row.kind == "rate" and said.get(name) is not None}
    times = {name: float(said[f"{name}_ms"]) / 1e3 for name in METRICS if said.get(f"{name}_ms") is not None}
    return BenchResult(
        measurements={"duration": duration, **rates, **times},
        raw=_raw(said),
        work=_work(said),
        seconds=duration,
        longest=max(said.get("output_lens") or (0,)),
        fault=_fault(said, workload) or output_lengths.fault(said.get("output_lens"), workload, asked, ignored),
    )


def _work(said: Mapping[str, Any]) -> dict[str, int]:
    counted = {"requests": said["completed"], "input_tokens": said["total_input_tokens"]}
    if "total_output_tokens" in said:
        counted["output_tokens"] = said["total_output_tokens"]
    if said.get("output_lens"):
        counted["output_lengths_checksum"] = output_lengths.checksum(said["output_lens"])
    return {name: int(value) for name, value in counted.items()}


def _raw(said: Mapping[str, Any]) -> dict[str, list[float]]:
    """Time to first token, time per output token after it, and end-to-end latency of every request; gaps between tokens, of all requests
    together, some hundreds in ascending order. To six digits."""
    found: dict[str, list[float]] = {}
    first = said.get("ttfts")
    if first:
        found["ttft"] = [_short(value) for value in first]
    gaps, made = said.get("itls"), said.get("output_lens")
    if gaps and made:
        found["tpot"] = [_short(sum(mine) / (length - 1)) for mine, length in zip(gaps, made, strict=True) if length > 1]
    if gaps and any(gaps):
        found["itl"] = [_short(gap) for gap in thinned(sorted(gap for mine in gaps for gap in mine))]
    ends = said.get("latencies") or ([start + sum(mine) for start, mine in zip(first, gaps, strict=True)] if first and gaps else ())
    if ends:
        found["e2el"] = [_short(value) for value in ends]
    return found


def thinned(ordered: Sequence[float], most: int = MOST_GAPS) -> list[float]:
    """At most `most` of some ordered values, evenly chosen, the ends among them: their distribution, in less."""
    if len(ordered) <= most:
        return list(ordered)
    return [ordered[round(place * (len(ordered) - 1) / (most - 1))] for place in range(most)]


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _fault(said: Mapping[str, Any], workload: ServeWorkload) -> str:
    asked, completed = workload.requests, int(said["completed"])
    failed = int(said.get("failed", asked - completed))
    if failed or completed != asked:
        first = next((error.strip().splitlines()[-1] for error in said.get("errors") or () if error and error.strip()), "")
        return f"{completed} of {asked} requests completed, {failed} failed" + (f" (the first: {first[:200]})" if first else "")
    return ""


def warnings_for(
    workload: ServeWorkload, result: BenchResult, *, profile: Profile, client_load: float, server: Mapping[str, int], steps: int = 0
) -> list[str]:
    """What makes one doubt a run that counts.

    `client_load` is CPU time over wall time; `server` the differences of its counters; `steps` those of its engine, 0 where unknown.
    """
    told = []
    wave, least = one_wave(workload.requests, workload.client), LEAST_SECONDS[profile]
    if result.seconds < least:
        more = requests_for(least, workload.requests, result.seconds, wave)
        told.append(f"measured for {result.seconds:.1f} s only; {profile} asks for {least:.0f} s: longer outputs, or 'requests: {more}'")
    if wave is not None and workload.warmups < wave:
        told.append(f"{workload.warmups} warm-ups are less than one wave: {wave} requests run at once; set 'warmups: {wave}'")
    if client_load > BUSY_CLIENT:
        told.append(f"the client used {client_load:.0%} of a core: it may be what was measured; try '--stream-interval' on the server")
    if server.get("prefix_cache_hits"):
        told.append(f"{server['prefix_cache_hits']} prompt tokens came from the prefix cache: part of the prompts was not computed")
    if server.get("preemptions"):
        told.append(f"{server['preemptions']} requests were preempted: the KV cache is too small for this workload")
    together, made = wave if math.isinf(arrival_rate(workload.client)) else None, server.get("generation_tokens", 0)
    if made and together and max(made / together, result.longest) < SMALL_BATCH * steps:
        told.append(
            f"a step of the engine made {made / steps:.1f} tokens where {together} requests were to run together: "
            "they ran in small batches, as they do where front end or client wait for a core, or where '--max-num-seqs' is less"
        )
    return told
