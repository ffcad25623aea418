"""`OutputProcessor.process_outputs` for the last tokens of requests, and their statistics; `add_request` of the next ones."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.outputs.streams import core_output, core_requests, tokenizer, words
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 32, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = (
    "vllm.v1.engine.output_processor:OutputProcessor.add_request",
    "vllm.v1.engine.output_processor:OutputProcessor._finish_request",
)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 8}
MEANS = "once a request, in the front end's process: when it comes and when it ends"


class Ending:
    """The same requests again and again, of one step each."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.requests = core_requests(parameters["requests"], seed=parameters["seed"])
        self.processor = engine.output_processor(tokenizer())
        self.ended = 0

    def prepare(self) -> Round:
        from vllm.v1.engine import FinishReason
        from vllm.v1.metrics.stats import IterationStats

        last = [core_output(one.request_id, words(1, n), finish_reason=FinishReason.LENGTH) for n, one in enumerate(self.requests)]
        stats = IterationStats()

        def come_and_go() -> None:
            for one in self.requests:
                self.processor.add_request(one, None)
            self.ended += sum(one.finished for one in self.processor.process_outputs(last, 1.0, stats).request_outputs)

        return come_and_go


def counted_round(parameters: dict[str, Any]) -> Round:
    return Ending(parameters).prepare()


def test_finish_outputs(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Requests of a single token."""
    ending = Ending(parameters)
    measure(benchmark, parameters, ending.prepare, lambda: {"ended": ending.ended})
