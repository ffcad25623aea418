"""`OutputProcessor.process_outputs` for a step's tokens: each is detokenized, counted, and handed out as a piece of its answer."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.outputs.streams import core_output, core_requests, tokenizer, words
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 64, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = (
    "vllm.v1.engine.output_processor:OutputProcessor.process_outputs",
    "vllm.v1.engine.detokenizer:BaseIncrementalDetokenizer.update",
)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 16}
MEANS = "once a step, in the front end's process: with many requests it bounds how many tokens a second leave the server"


class Streaming:
    """Requests that get a word at each round."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.seed, self.round, self.pieces = parameters["seed"], 0, 0
        self.processor = engine.output_processor(tokenizer())
        self.requests = core_requests(parameters["requests"], seed=self.seed)
        for one in self.requests:
            self.processor.add_request(one, None)

    def prepare(self) -> Round:
        from vllm.v1.metrics.stats import IterationStats

        self.round += 1
        outputs = [core_output(one.request_id, words(1, self.seed + n + 1_000 * self.round)) for n, one in enumerate(self.requests)]
        stats = IterationStats()

        def process() -> None:
            self.pieces += len(self.processor.process_outputs(outputs, 1.0, stats).request_outputs)

        return process


def counted_round(parameters: dict[str, Any]) -> Round:
    streaming = Streaming(parameters)
    streaming.prepare()()
    return streaming.prepare()


def test_process_outputs(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step of requests that stream."""
    streaming = Streaming(parameters)
    measure(benchmark, parameters, streaming.prepare, lambda: {"pieces": streaming.pieces})
