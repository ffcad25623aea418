"""One call of the worker's `sample_tokens` for greedy requests: all that the worker's host does in a step behind the logits."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "prompt_tokens": 64, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = (
    "vllm.v1.worker.gpu_model_runner:GPUModelRunner.sample_tokens",
    "vllm.v1.worker.gpu_model_runner:GPUModelRunner._bookkeeping_sync",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step in each worker, behind the model: sampling, and the bookkeeping by which the next step knows its tokens"
COUNT_AT = {"requests": 16}


class Sampling:
    """Decode steps of which only the part behind the logits is the round."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters)

    def prepare(self) -> Round:
        self.parts.schedule()
        self.parts.execute()
        return self.parts.sample


def counted_round(parameters: dict[str, Any]) -> Round:
    return Sampling(parameters).prepare()


def test_sample_tokens(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The rest of a decode step."""
    sampling = Sampling(parameters)
    measure(benchmark, parameters, sampling.prepare, lambda: {"scheduled_tokens": sampling.parts.tokens})
