"""A step of the V1 sampler for greedy requests: the least that every step does."""

from __future__ import annotations

from typing import Any

from perfproof.bench.decoding_batch import Batch
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 32, "rounds": 60, "warmup_rounds": 5, "seed": 7}
EXERCISES = ("vllm.v1.sample.sampler:Sampler.forward",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step, behind the model: the operators run on the device, the host's share is in the way if the device is faster"


class Greedy(Batch):
    """The same step again and again."""

    sampled = 0

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__(parameters, lambda n: {"temperature": 0.0})

    def prepare(self) -> Round:
        return self.step

    def step(self) -> None:
        self.sampled += len(self.sample().sampled_token_ids)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Greedy(parameters).prepare()


def test_greedy(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step of greedy requests."""
    greedy = Greedy(parameters)
    measure(benchmark, parameters, greedy.prepare, lambda: {"sampled": greedy.sampled})
