"""A step without requests, which an engine that shares experts with others takes beside theirs (`EngineCore.execute_dummy_batch`)."""

from __future__ import annotations

from typing import Any

from perfproof.bench.adapter import absent
from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import llm_engine

PARAMETERS = {"steps": 4, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.worker.gpu_model_runner:GPUModelRunner._dummy_run",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step of every idle engine in data parallelism with experts, as long as another has requests"
COUNT_AT = {"steps": 1}


class Idling:
    """An engine without requests, whose model is a stub; the round has it take steps all the same."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.core = llm_engine().engine_core.engine_core
        if not hasattr(self.core, "execute_dummy_batch"):
            absent("step without requests")
        self.steps, self.taken = parameters["steps"], 0

    def prepare(self) -> Round:
        return self.step

    def step(self) -> None:
        for _ in range(self.steps):
            self.core.execute_dummy_batch()
        self.taken += self.steps


def counted_round(parameters: dict[str, Any]) -> Round:
    return Idling(parameters).prepare()


def test_dummy_batch(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Steps of an idle engine."""
    idling = Idling(parameters)
    measure(benchmark, parameters, idling.prepare, lambda: {"steps": idling.taken})
