"""`StructuredOutputManager.grammar_bitmask`: which tokens the grammar of each request allows next, as a mask over the vocabulary."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.structured_output.grammars import Grammars

PARAMETERS = {"requests": 16, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.structured_output:StructuredOutputManager.grammar_bitmask",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 4}
MEANS = "once a step with structured requests, while the model runs; what takes longer than the model is waited for"


class Filling(Grammars):
    """The first step of every answer, again and again."""

    rows = 0

    def prepare(self) -> Round:
        return self.fill

    def fill(self) -> None:
        self.rows += len(self.manager.grammar_bitmask(self.requests, list(self.requests), {}))


def counted_round(parameters: dict[str, Any]) -> Round:
    return Filling(parameters).prepare()


def test_fill_bitmask(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's mask."""
    filling = Filling(parameters)
    measure(benchmark, parameters, filling.prepare, lambda: {"rows": filling.rows})
