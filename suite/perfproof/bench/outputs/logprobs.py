"""One step's log probabilities of every request through its `LogprobsProcessor`: ids become texts, and rows of `Logprob`."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import find
from perfproof.bench.outputs import streams
from perfproof.bench.rounds import Round, measure
from perfproof.bench.texts import tokenizer

PARAMETERS = {"requests": 32, "logprobs": 5, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.engine.logprobs:LogprobsProcessor.update_from_output",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step for every request that asks for `logprobs`, in the process that serves HTTP"


class Rows:
    """The processors of requests that want the likeliest tokens beside the sampled one. Each round is one token of each."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parameters = parameters
        made = find("vllm.v1.engine.logprobs:LogprobsProcessor").from_new_request
        self.processors = [
            made(
                tokenizer=tokenizer(),
                request=streams.core_request(f"r{n}", engine.token_ids(16, parameters["seed"] + n), {"logprobs": parameters["logprobs"]}),
            )
            for n in range(parameters["requests"])
        ]
        self.steps = 0

    def prepare(self) -> Round:
        count, seed = self.parameters["logprobs"], self.parameters["seed"] + 1_000 * self.steps
        self.steps += 1
        outputs = [
            streams.core_output(f"r{n}", [token], new_logprobs=streams.sampled_logprobs([token], count, seed + n))
            for n, token in enumerate(engine.token_ids(len(self.processors), seed))
        ]
        return lambda: self.update(outputs)

    def update(self, outputs: list[Any]) -> None:
        for processor, output in zip(self.processors, outputs, strict=True):
            processor.update_from_output(output)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Rows(parameters).prepare()


def test_logprobs(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's log probabilities of requests that ask for them."""
    rows = Rows(parameters)
    measure(benchmark, parameters, rows.prepare, lambda: {"rows": sum(len(p.logprobs) for p in rows.processors)})
