"""One call of `OutputProcessor.process_outputs` with a token of every request: statistics, text, and the outputs that clients get."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import accepted, find
from perfproof.bench.outputs import streams
from perfproof.bench.rounds import Round, measure
from perfproof.bench.texts import tokenizer

PARAMETERS = {"requests": 128, "prompt_tokens": 128, "logprobs": 0, "outputs": "queued", "rounds": 40, "warmup_rounds": 4, "seed": 7}
CHOICES = {"outputs": ("queued", "returned")}
LEAST = {"logprobs": 0}
EXERCISES = ("vllm.v1.engine.output_processor:OutputProcessor.process_outputs",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step in the process that serves HTTP (`queued`), or in the caller's, where `LLM` returns all at the end (`returned`)"


class Answering:
    """An output processor whose requests all decode. Each round is one step's outputs; what it queued is taken out untimed."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        from vllm.sampling_params import RequestOutputKind
        from vllm.v1.metrics.stats import IterationStats

        self.parameters = parameters
        self.statistics = IterationStats
        self.processor = engine.output_processor(tokenizer())
        queued = parameters["outputs"] == "queued"
        collector = find("vllm.v1.engine.output_processor:RequestOutputCollector") if queued else None
        sampling: dict[str, Any] = {"logprobs": parameters["logprobs"]} if parameters["logprobs"] else {}
        if not queued:
            sampling["output_kind"] = RequestOutputKind.FINAL_ONLY
        self.queues: list[Any] = []
        self.names = [f"r{n}" for n in range(parameters["requests"])]
        for n, name in enumerate(self.names):
            one = streams.core_request(name, engine.token_ids(parameters["prompt_tokens"], parameters["seed"] + n), sampling)
            queue = None
            if collector is not None:
                queue = collector(**accepted(collector.__init__, output_kind=RequestOutputKind.DELTA, request_id=name))
                self.queues.append(queue)
            self.processor.add_request(one, None, None, 0, queue)
        self.steps = 0
        self.given = 0
        self.prepare()()  # the first token ends the prefill

    def prepare(self) -> Round:
        self.given += sum(queue.get_nowait() is not None for queue in self.queues)
        seed, count = self.parameters["seed"] + 5_000 + self.steps, self.parameters["logprobs"]
        tokens = engine.token_ids(len(self.names), seed)
        outputs = [
            streams.core_output(name, [token], **({"new_logprobs": streams.sampled_logprobs([token], count, seed)} if count else {}))
            for name, token in zip(self.names, tokens, strict=True)
        ]
        self.steps += 1
        return lambda: self.processor.process_outputs(outputs, 1.0, self.statistics())


def counted_round(parameters: dict[str, Any]) -> Round:
    return Answering(parameters).prepare()


def test_process_outputs(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's outputs of requests that all decode."""
    answering = Answering(parameters)
    measure(
        benchmark,
        parameters,
        answering.prepare,
        lambda: {"tokens": answering.steps * parameters["requests"], "queued_outputs": answering.given},
    )
