"""The benchmarks of Model Runner V2 drive vLLM's own objects, release by release: here without a GPU, kernels not launched."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import bench_runs
import pytest
from host_v2 import on_the_host

import perfproof.bench
from perfproof.bench.adapter import release

pytestmark = pytest.mark.skipif(release() < (0, 22), reason="the benchmarks of Model Runner V2 are for 0.22.0 and later")
PREPARATION, SAMPLER, REJECTION = "input_preparation.v2_prepare_inputs", "sampling.v2_sampler", "speculation.v2_rejection_sampler"
ASKS = ("nothing", "penalties", "top_k_top_p", "logit_bias", "min_tokens", "bad_words", "one_penalty")
CASES: list[tuple[str, dict[str, Any]]] = [
    (PREPARATION, {}),
    (PREPARATION, {"turnover": 3}),
    (REJECTION, {}),
    *((SAMPLER, {"asks": asks}) for asks in ASKS),
]


@pytest.mark.parametrize(("name", "more"), CASES)
def test_a_benchmark_of_v2_does_the_same_work_again_and_calls_what_it_says(
    name: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs of its rounds do equal work, which is not none, and a round calls the functions of `EXERCISES`."""
    on_the_host(monkeypatch)
    bench = importlib.import_module(f"perfproof.bench.{name}")
    bench_runs.check(bench, {**bench_runs.small(bench), **more}, monkeypatch)


def test_every_benchmark_of_v2_is_tested() -> None:
    folder = Path(perfproof.bench.__file__).parent
    there = {".".join(file.relative_to(folder).with_suffix("").parts) for file in folder.glob("*/v2_*.py")}
    assert there == {name for name, _ in CASES}


def test_slots_blocks_and_starts_are_what_the_step_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """After twenty steps with requests that come and go, the runner holds those that run, each with its tokens and its blocks."""
    on_the_host(monkeypatch)
    from perfproof.bench.input_preparation.v2_prepare_inputs import PARAMETERS, Stepping

    stepping = Stepping({**PARAMETERS, "requests": 16, "prompt_tokens": 30, "turnover": 2})
    for _ in range(20):
        stepping.prepare()()
    states, tables = stepping.runner.req_states, stepping.runner.block_tables
    assert set(states.req_id_to_index) == set(stepping.computed)
    for name, computed in stepping.computed.items():
        slot = states.req_id_to_index[name]
        assert int(states.num_computed_tokens_np[slot]) == computed
        assert int(tables.num_blocks.np[0, slot]) == -(-(computed + 1) // 16)
