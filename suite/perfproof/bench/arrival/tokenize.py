"""A long prompt of text becomes token ids, and what the engine takes (`render_cmpl`)."""

from __future__ import annotations

from typing import Any

from perfproof.bench.arrival.renderer import renderer
from perfproof.bench.rounds import Round, measure
from perfproof.bench.texts import text

PARAMETERS = {"letters": 32_000, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.renderers.base:BaseRenderer.render_cmpl",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"letters": 2_000}
MEANS = "once a request with a prompt of text, in the process that serves HTTP, on a thread for the tokenizer"


class Tokenizing:
    """The same text again and again."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.renderer = renderer()
        self.text = text(parameters["letters"], parameters["seed"])
        self.tokens = 0

    def prepare(self) -> Round:
        return self.tokenize

    def tokenize(self) -> None:
        (prompt,) = self.renderer.render_cmpl([{"prompt": self.text}])
        self.tokens += len(prompt["prompt_token_ids"])


def counted_round(parameters: dict[str, Any]) -> Round:
    return Tokenizing(parameters).prepare()


def test_tokenize(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A prompt's tokens."""
    tokenizing = Tokenizing(parameters)
    measure(benchmark, parameters, tokenizing.prepare, lambda: {"tokens": tokenizing.tokens})
