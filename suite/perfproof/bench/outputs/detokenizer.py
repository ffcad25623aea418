"""One new token for each request through its detokenizer, and the text that may be sent: what streaming costs a token.

The fast detokenizer is the tokenizers library's stream; the slow one is Python, for tokenizers that the library lacks.
"""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.outputs import streams
from perfproof.bench.rounds import Round, measure
from perfproof.bench.texts import tokenizer

PARAMETERS = {
    "requests": 32,
    "output_tokens": 128,
    "stop_strings": 0,
    "detokenizer": "fast",
    "rounds": 40,
    "warmup_rounds": 4,
    "seed": 7,
}
CHOICES = {"detokenizer": ("fast", "slow")}
LEAST = {"stop_strings": 0}
EXERCISES = ("vllm.v1.engine.detokenizer:BaseIncrementalDetokenizer.update",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 8}
MEANS = "once a step for every request, in the process that serves HTTP: past a few hundred requests it limits the server"


class Streaming:
    """Detokenizers of requests that have `output_tokens` tokens of text already. Each round adds one token to each."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        from vllm.v1.engine import detokenizer as vllm_detokenizer

        kinds = {"fast": vllm_detokenizer.FastIncrementalDetokenizer, "slow": vllm_detokenizer.SlowIncrementalDetokenizer}
        count, seed = parameters["requests"], parameters["seed"]
        stop = [f"\n\n{n}:" for n in range(parameters["stop_strings"])]
        self.detokenizers = [
            kinds[parameters["detokenizer"]](
                tokenizer(), streams.core_request(f"r{n}", engine.token_ids(16, seed + n), {"stop": stop} if stop else {})
            )
            for n in range(count)
        ]
        for n, detokenizer in enumerate(self.detokenizers):
            detokenizer.update(engine.token_ids(parameters["output_tokens"], seed + 1_000 + n), False)
        self.steps = 0
        self.characters = 0
        self.seed = seed

    def prepare(self) -> Round:
        new = engine.token_ids(len(self.detokenizers), self.seed + 5_000 + self.steps)
        self.steps += 1
        return lambda: self.add(new)

    def add(self, new: list[int]) -> None:
        for detokenizer, token in zip(self.detokenizers, new, strict=True):
            detokenizer.update([token], False)
            self.characters += len(detokenizer.get_next_output_text(False, True))


def counted_round(parameters: dict[str, Any]) -> Round:
    return Streaming(parameters).prepare()


def test_detokenizer(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A token more for every request that streams."""
    streaming = Streaming(parameters)
    measure(
        benchmark,
        parameters,
        streaming.prepare,
        lambda: {"tokens": streaming.steps * parameters["requests"], "characters": streaming.characters},
    )
