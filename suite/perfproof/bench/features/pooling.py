"""One call of the runner's `_pool`: the hidden states of a step are split by request, pooled, and taken to the host."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "prompt_tokens": 64, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.worker.gpu_model_runner:GPUModelRunner._pool", "vllm.v1.pool.metadata:PoolingMetadata.build_pooling_cursor")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step of an embedding model, behind the model; every request takes one step"
COUNT_AT = {"requests": 16}


class Pooling:
    """Steps in which every request is new, and ends; the round pools the step that was taken once more."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.requests = parameters["requests"]
        self.parts = Parts(parameters, "pooling")

    def prepare(self) -> Round:
        self.parts.settle()
        for _ in range(self.requests):
            self.parts.add()
        return self.parts.replayed(self.parts.runner, "_pool")


def counted_round(parameters: dict[str, Any]) -> Round:
    return Pooling(parameters).prepare()


def test_pooling(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The embeddings of a step."""
    pooling = Pooling(parameters)
    measure(benchmark, parameters, pooling.prepare, lambda: {"scheduled_tokens": pooling.parts.tokens})
