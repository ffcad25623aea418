"""A step of the V1 sampler with logprobs asked for, and their way to Python lists."""

from __future__ import annotations

from typing import Any

from perfproof.bench.decoding_batch import Batch
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 32, "logprobs": 5, "rounds": 40, "warmup_rounds": 5, "seed": 7}
EXERCISES = ("vllm.v1.sample.sampler:Sampler.gather_logprobs", "vllm.v1.outputs:LogprobsTensors.tolists")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step as soon as one request of the batch asks for logprobs"


class Logprobs(Batch):
    """The same step again and again."""

    lists = 0

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__(parameters, lambda n: {"temperature": 0.7, "seed": n, "logprobs": parameters["logprobs"]})

    def prepare(self) -> Round:
        return self.step

    def step(self) -> None:
        lists = self.sample().logprobs_tensors.tolists()
        for n in range(self.count):
            self.lists += len(lists.slice_request(n, 1).logprob_token_ids) if hasattr(lists, "slice_request") else 1


def counted_round(parameters: dict[str, Any]) -> Round:
    return Logprobs(parameters).prepare()


def test_logprobs(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step of requests that ask for logprobs."""
    logprobs = Logprobs(parameters)
    measure(benchmark, parameters, logprobs.prepare, lambda: {"lists": logprobs.lists})
