"""A worker's step in which no token is computed, while keys and values come and go through a KV connector (`kv_connector_no_forward`)."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 0, "prompt_tokens": 64, "rounds": 20, "warmup_rounds": 2, "seed": 7}
LEAST = {"requests": 0}
EXERCISES = ("vllm.v1.worker.kv_connector_model_runner_mixin:KVConnectorModelRunnerMixin.kv_connector_no_forward",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step of a server that only waits for keys and values of others, or hands its own on, in separate prefill and decode"


class Waiting:
    """An engine with a KV connector, and nothing to compute."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters, "connected")
        self.steps = 0

    def prepare(self) -> Round:
        scheduled = self.parts.scheduler.schedule()

        def step() -> None:
            self.parts.worker.execute_model(scheduled)
            self.steps += 1

        return step


def counted_round(parameters: dict[str, Any]) -> Round:
    return Waiting(parameters).prepare()


def test_kv_step(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Steps without tokens."""
    waiting = Waiting(parameters)
    measure(benchmark, parameters, waiting.prepare, lambda: {"steps": waiting.steps})
