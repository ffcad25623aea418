"""`InputProcessor.process_inputs` of requests with a grammar: whether the backend can have it is looked at before the engine sees it."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.structured_output.grammars import Grammars

PARAMETERS = {"requests": 8, "grammar": "json", "backend": "xgrammar", "rounds": 15, "warmup_rounds": 2, "seed": 7}
CHOICES = {"grammar": ("json", "regex", "choice"), "backend": ("xgrammar", "guidance", "outlines")}
EXERCISES = ("vllm.v1.engine.input_processor:InputProcessor.process_inputs",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 2}
MEANS = "once a request with a grammar, in the process that serves HTTP: nobody is served meanwhile"


class Validating(Grammars):
    """Each round has requests of its own."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__(parameters)
        self.count, self.validated = parameters["requests"], 0

    def prepare(self) -> Round:
        asked = [self.asked(self.made + n) for n in range(self.count)]
        self.made += self.count
        return lambda: self.validate(asked)

    def validate(self, asked: list[Any]) -> None:
        for params in asked:
            self.validated += self.arrived(f"v{self.validated}", params) is not None


def counted_round(parameters: dict[str, Any]) -> Round:
    return Validating(parameters).prepare()


def test_validate(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Requests with grammars that come in."""
    validating = Validating(parameters)
    measure(benchmark, parameters, validating.prepare, lambda: {"validated": validating.validated})
