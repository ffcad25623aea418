"""One call of `OutputProcessor.process_outputs` in which requests end: their last texts, their statistics, their answers of several."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {
    "requests": 32,
    "prompt_tokens": 64,
    "answers": 1,
    "task": "generate",
    "rounds": 30,
    "warmup_rounds": 3,
    "seed": 7,
}
CHOICES = {"task": ("generate", "embed")}
EXERCISES = ("vllm.v1.engine.output_processor:OutputProcessor.process_outputs",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a request, at its last token, in the process that serves HTTP"
COUNT_AT = {"requests": 8}


class Ending:
    """Requests that take their only token. Each round is what the front end does with it."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        from vllm.v1.metrics.stats import IterationStats

        self.statistics = IterationStats
        self.requests = parameters["requests"]
        several = {"n": parameters["answers"], "temperature": 1.0, "seed": 1} if parameters["answers"] > 1 else {}
        of = "pooling" if parameters["task"] == "embed" else "plain"
        self.parts = Parts({**parameters, "requests": 0}, of, sampling=lambda n: {**several, "max_tokens": 1})
        self.ended = 0

    def prepare(self) -> Round:
        for _ in range(self.requests):
            self.parts.add()
        outputs = self.parts.engine.engine_core.get_output().outputs
        self.ended += sum(bool(one.finish_reason is not None) for one in outputs)
        processor = self.parts.engine.output_processor
        return lambda: processor.process_outputs(outputs, 1.0, self.statistics())


def counted_round(parameters: dict[str, Any]) -> Round:
    return Ending(parameters).prepare()


def test_finish(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The last outputs of requests."""
    ending = Ending(parameters)
    measure(benchmark, parameters, ending.prepare, lambda: {"ended": ending.ended})
