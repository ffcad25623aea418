"""`OutputProcessor.process_outputs` of steps of several tokens, amid which a stop string ends answers: what came after it is dropped."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.outputs import streams
from perfproof.bench.rounds import Round, measure
from perfproof.bench.texts import tokenizer

PARAMETERS = {"requests": 16, "logprobs": 0, "rounds": 30, "warmup_rounds": 3, "seed": 7}
LEAST = {"logprobs": 0}
EXERCISES = ("vllm.v1.engine.output_processor:OutputProcessor.process_outputs",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a request with stop strings, at its end, where speculation gives several tokens a step"
COUNT_AT = {"requests": 4}
STOP = "zq"


class Stopping:
    """Each round's requests get five tokens, of which the second and third spell the stop string."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        from vllm.v1.metrics.stats import IterationStats

        self.parameters, self.statistics = parameters, IterationStats
        self.processor = engine.output_processor(tokenizer())
        ids = tokenizer().convert_tokens_to_ids
        self.tokens = [ids("a"), ids("z"), ids("q"), ids("b"), ids("c")]
        self.made = self.stopped = 0

    def prepare(self) -> Round:
        count = self.parameters["logprobs"]
        sampling = {"stop": [STOP], **({"logprobs": count} if count else {})}
        outputs = []
        for _ in range(self.parameters["requests"]):
            self.made += 1
            name = f"r{self.made}"
            self.processor.add_request(streams.core_request(name, engine.token_ids(16, self.made), sampling), None, None, 0, None)
            more = {"new_logprobs": streams.sampled_logprobs(self.tokens, count, self.made)} if count else {}
            outputs.append(streams.core_output(name, self.tokens, **more))
        return lambda: self.stop(outputs)

    def stop(self, outputs: list[Any]) -> None:
        self.stopped += len(self.processor.process_outputs(outputs, 1.0, self.statistics()).reqs_to_abort)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Stopping(parameters).prepare()


def test_stop_within(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Answers that end amid a step's tokens."""
    stopping = Stopping(parameters)
    measure(benchmark, parameters, stopping.prepare, lambda: {"stopped": stopping.stopped})
