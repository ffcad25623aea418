"""`LLMEngine.add_request` behind the processing of its inputs: a request comes into the output processor's and the scheduler's queues."""

from __future__ import annotations

import copy
from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 16, "prompt_tokens": 256, "answers": 1, "task": "generate", "rounds": 30, "warmup_rounds": 3, "seed": 7}
CHOICES = {"task": ("generate", "embed")}
EXERCISES = (
    "vllm.v1.engine.llm_engine:LLMEngine.add_request",
    "vllm.v1.engine.core:EngineCore.preprocess_add_request",
    "vllm.v1.engine.output_processor:OutputProcessor.add_request",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a request, behind `arrival/process_inputs`; a server splits it over its two processes"
COUNT_AT = {"requests": 4}


class Arriving:
    """An engine without requests; those of a round leave before the next."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.requests = parameters["requests"]
        several = {"n": parameters["answers"], "temperature": 1.0, "seed": 1} if parameters["answers"] > 1 else {}
        of = "pooling" if parameters["task"] == "embed" else "plain"
        self.parts = Parts({**parameters, "requests": 0}, of, sampling=lambda n: several)

    def prepare(self) -> Round:
        parts = self.parts
        parts.clear()
        process = parts.engine.input_processor.process_inputs
        ready: list[Any] = []

        def note(*args: Any, **kwargs: Any) -> Any:
            ready.append(process(*args, **kwargs))
            return copy.copy(ready[-1])

        parts.replace(parts.engine.input_processor, "process_inputs", note)
        for _ in range(self.requests):
            parts.add()
        parts.clear()
        waiting = iter(ready)
        parts.replace(parts.engine.input_processor, "process_inputs", lambda *args, **kwargs: next(waiting))
        return self.arrive

    def arrive(self) -> None:
        for _ in range(self.requests):
            self.parts.add()


def counted_round(parameters: dict[str, Any]) -> Round:
    return Arriving(parameters).prepare()


def test_add_request(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Requests that come in together."""
    arriving = Arriving(parameters)
    measure(benchmark, parameters, arriving.prepare, lambda: {"requests": arriving.parts.made})
