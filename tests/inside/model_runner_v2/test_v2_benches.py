"""The benchmarks of Model Runner V2 drive vLLM's own objects, release by release: here without a GPU, kernels not launched."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest
from host_v2 import on_the_host

from perfproof.bench.adapter import find

BENCHES = ("input_preparation.v2_prepare_inputs", "sampling.v2_sampler", "speculation.v2_rejection_sampler")
FEW = {"rounds": 2, "warmup_rounds": 0}


class Once:
    """pytest-benchmark without its clock."""

    def __init__(self) -> None:
        self.extra_info: dict[str, Any] = {}

    def pedantic(self, function: Callable[..., Any], *, setup: Callable[[], Any], rounds: int, **how: Any) -> None:
        for _ in range(rounds):
            arguments, keywords = setup()
            function(*arguments, **keywords)


def calls(function: Callable[[], object]) -> set[str]:
    """The functions that a call calls, by module and qualified name."""
    seen: set[str] = set()

    def look(frame: Any, event: str, _: object) -> None:
        if event == "call":
            seen.add(f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}")

    sys.setprofile(look)
    try:
        function()
    finally:
        sys.setprofile(None)
    return seen


def done(bench: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """What the benchmark says that it did."""
    (test,) = [function for name, function in vars(bench).items() if name.startswith("test_")]
    once = Once()
    test(once, parameters)
    return once.extra_info


@pytest.mark.parametrize(
    ("name", "more"),
    [
        (BENCHES[0], {}),
        (BENCHES[0], {"turnover": 3}),
        *(
            (BENCHES[1], {"asks": asks})
            for asks in ("nothing", "penalties", "top_k_top_p", "logit_bias", "min_tokens", "bad_words", "one_penalty")
        ),
    ],
)
def test_a_benchmark_of_v2_does_the_same_work_again_and_calls_what_it_says(
    name: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs of its rounds do equal work, which is not none, and a round calls the functions of `EXERCISES`."""
    on_the_host(monkeypatch)
    bench = importlib.import_module(f"perfproof.bench.{name}")
    parameters = {**bench.PARAMETERS, **bench.COUNT_AT, **FEW, **more}
    first = done(bench, parameters)
    assert first == done(bench, parameters)
    assert all(first["work"].values())
    assert [target for target in bench.EXERCISES if target not in calls(bench.counted_round(parameters))] == []


def test_slots_blocks_and_starts_are_what_the_step_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step's batch holds each request once, one token each, and a row's blocks are those that it was given."""
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
    find("vllm.v1.worker.gpu.model_runner:GPUModelRunner.prepare_inputs")
