"""`IncrementalDetokenizer.update`, token by token over a long answer, with stop strings that never come: the cost must not grow."""

from __future__ import annotations

from typing import Any

from perfproof.bench.outputs.streams import core_requests, tokenizer, words
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"tokens": 4_096, "kind": "fast", "rounds": 8, "warmup_rounds": 1, "seed": 7}
CHOICES = {"kind": ("fast", "slow")}
EXERCISES = ("vllm.v1.engine.detokenizer:BaseIncrementalDetokenizer.update", "vllm.v1.engine.detokenizer:check_stop_strings")
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"tokens": 128}
MEANS = "once a token and request, in the front end's process; a round is a whole answer, so twice the tokens must cost twice the time"


class Answer:
    """An answer that begins anew at each round."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        (self.request,) = core_requests(1, seed=parameters["seed"], sampling={"stop": ["zqzqzq", "xjxjxj"]})
        self.ids, self.kind = words(parameters["tokens"], parameters["seed"]), parameters["kind"]
        self.letters = 0

    def prepare(self) -> Round:
        from vllm.v1.engine import detokenizer

        kind = detokenizer.FastIncrementalDetokenizer if self.kind == "fast" else detokenizer.SlowIncrementalDetokenizer
        made = kind(tokenizer(), self.request)

        def read() -> None:
            for one in self.ids:
                made.update([one], False)
                self.letters += len(made.get_next_output_text(False, True))

        return read


def counted_round(parameters: dict[str, Any]) -> Round:
    return Answer(parameters).prepare()


def test_detokenize(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A long answer, token by token."""
    answer = Answer(parameters)
    measure(benchmark, parameters, answer.prepare, lambda: {"letters": answer.letters})
