"""What the real part of the proof measures: scenarios whose candidate is slower by a known fraction, by
`perfproof.patches.planted.known_slowdown`.

Two workloads. *micro*: decode steps of vLLM's thinking budget, whose `update_state` is nearly all of a round; a run is a scenario of two
arms, as anybody's would be, with the usual looks. *serve*: a toy server, whose engine's step is what takes the time; a run is one scenario
with an arm for each fraction, so that all share the baseline's trials and one set of servers, and one look at its end.

A fraction of 0 is the baseline under the same wrapper: no change.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from perfproof.model.documents.decode import DEFAULT_BUILD, scenario_of
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.patches.planted.known_slowdown import ENGINE_STEP, PATCH, THINKING, VARIABLE

BATCHES: tuple[Mapping[int, int], ...] = ({0: 20, 5: 10, 10: 10}, {0: 20}, {1: 10, 2: 10, 3: 10})
"""Runs of each slowdown, in per cent, in each batch: 40 without a change and 10 of every slowdown in all. A batch is one plan, whose runs
take turns block by block and share the imports."""
SITTINGS: tuple[Mapping[int, int], ...] = ({0: 10, 5: 5, 10: 5}, {0: 10}, {1: 5, 2: 5, 3: 5})
"""Sittings of the other tools beside each batch, half as many."""
MARGIN = 0.02
BASELINE, CANDIDATE = "baseline", "candidate"

MICRO: Mapping[str, Any] = {
    "kind": "micro",
    "bench": "thinking_scan",
    "parameters": {"requests": 4, "output_length": 1000, "steps": 16, "rounds": 40, "warmup_rounds": 2},
}
MICRO_METRIC = "round_time"

SERVE_PERCENTS = (0, 5, 10)
SERVE_BLOCKS = 16
SERVE_RUNS = 2
SERVE: Mapping[str, Any] = {
    "kind": "serve",
    "model": {"layers": 1, "hidden": 64, "heads": 2, "vocabulary": 1024, "context": 4096},
    "server_arguments": ["--enforce-eager", "--max-num-seqs=64", "--stream-interval=32"],
    "client": {"backend": "vllm", "dataset-name": "random", "random-input-len": 16, "random-output-len": 256, "temperature": 0},
    "requests": 64,
    "warmups": 16,
    "launches": "shared",
}
SERVE_METRIC = "output_throughput"


def batch(number: int, build: Mapping[str, Any] = DEFAULT_BUILD) -> list[Scenario]:
    """The runs of a batch of the microbenchmark (1 and up), each a scenario of its own; in random order, so that none is always last."""
    return [micro(percent, run, build) for percent, run in _numbered(BATCHES, number, "batch")]


def sittings(number: int) -> list[tuple[int, int]]:
    """The sittings of the other tools in a batch, in random order: the slowdown in per cent, and the sitting's number."""
    return _numbered(SITTINGS, number, "sittings")


def _numbered(counts: Sequence[Mapping[int, int]], number: int, name: str) -> list[tuple[int, int]]:
    """The slowdowns of a batch with the numbers of their runs, which go on from batch to batch; shuffled."""
    before = {percent: sum(batch.get(percent, 0) for batch in counts[: number - 1]) for percent in counts[number - 1]}
    made = [(percent, before[percent] + one) for percent, count in counts[number - 1].items() for one in range(1, count + 1)]
    random.Random(f"{name}/{number}").shuffle(made)
    return made


def micro(percent: int, number: int, build: Mapping[str, Any] = DEFAULT_BUILD) -> Scenario:
    """One run of the microbenchmark with that slowdown."""
    return scenario_of(
        {
            "schema": 1,
            "name": f"micro_{percent:02d}_{number:02d}",
            "question": f"Is a slowdown of {percent} % found?",
            "profile": "standard",
            "workload": dict(MICRO),
            "builds": {"default": dict(build)},
            "arms": {BASELINE: {"baseline": True}, CANDIDATE: slower(THINKING.name, percent)},
            "metrics": {MICRO_METRIC: {"primary": True, "margin": MARGIN}},
        },
        source="perfproof.validation.real.injected",
    )


def serve(number: int, build: Mapping[str, Any] = DEFAULT_BUILD) -> Scenario:
    """One run of the toy server with all its slowdowns."""
    return scenario_of(
        {
            "schema": 1,
            "name": f"serve_{number:02d}",
            "question": "Which slowdowns of the engine's step are found?",
            "profile": "quick",
            "workload": dict(SERVE),
            "builds": {"default": dict(build)},
            "arms": {BASELINE: {"baseline": True}, **{f"slower_{p:02d}": slower(ENGINE_STEP.name, p) for p in SERVE_PERCENTS}},
            "metrics": {SERVE_METRIC: {"primary": True, "margin": MARGIN}},
            "blocks": SERVE_BLOCKS,
        },
        source="perfproof.validation.real.injected",
    )


def slower(target: str, percent: int) -> dict[str, Any]:
    """An arm whose `target` takes `percent` per cent longer."""
    return {"patches": [PATCH.name], "environment": {VARIABLE: f"{target} {percent / 100}"}}


def percent_of(arm: Arm) -> int:
    """The slowdown of an arm, in per cent."""
    return round(100 * float(arm.environment[VARIABLE].split()[1]))
