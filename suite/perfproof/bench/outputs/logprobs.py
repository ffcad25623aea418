"""`LogprobsProcessor.update_from_output`: a token's logprobs become the objects that the user gets, with their texts."""

from __future__ import annotations

from typing import Any

from perfproof.bench.outputs.streams import core_output, core_requests, logprobs_of, tokenizer
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 32, "logprobs": 5, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.engine.logprobs:LogprobsProcessor.from_new_request", "vllm.v1.engine.logprobs:LogprobsProcessor.update_from_output")
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 8}
MEANS = "once a token and request that asks for logprobs, in the front end's process"


class Asked:
    """Requests that begin anew at each round, and get one token."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.requests = core_requests(parameters["requests"], sampling={"logprobs": parameters["logprobs"]})
        self.outputs = [
            core_output(one.request_id, [300 + n], new_logprobs=logprobs_of(1, parameters["logprobs"], parameters["seed"] + n))
            for n, one in enumerate(self.requests)
        ]
        self.got = 0

    def prepare(self) -> Round:
        from vllm.v1.engine.logprobs import LogprobsProcessor

        def take() -> None:
            for request, output in zip(self.requests, self.outputs, strict=True):
                processor = LogprobsProcessor.from_new_request(tokenizer(), request)
                processor.update_from_output(output)
                self.got += len(processor.logprobs)

        return take


def counted_round(parameters: dict[str, Any]) -> Round:
    return Asked(parameters).prepare()


def test_logprobs(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's logprobs."""
    asked = Asked(parameters)
    measure(benchmark, parameters, asked.prepare, lambda: {"logprobs": asked.got})
