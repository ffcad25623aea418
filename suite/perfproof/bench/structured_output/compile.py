"""A grammar is compiled for each request (`StructuredOutputManager._create_grammar`), none of which is known from before."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.structured_output.grammars import Grammars

PARAMETERS = {"requests": 8, "grammar": "json", "backend": "xgrammar", "rounds": 15, "warmup_rounds": 2, "seed": 7}
CHOICES = {"grammar": ("json", "regex", "choice"), "backend": ("xgrammar", "guidance", "outlines")}
EXERCISES = (
    "vllm.v1.structured_output:StructuredOutputManager._create_grammar",
    "vllm.v1.structured_output.backend_xgrammar:XgrammarBackend.compile_grammar",
)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 2}
MEANS = "once a request with a schema that was not compiled yet, on a thread of the engine's process; the request waits for it"


class Compiling(Grammars):
    """Each round has requests of its own."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__(parameters)
        self.count, self.compiled = parameters["requests"], 0

    def prepare(self) -> Round:
        requests = [self.request(self.made) for _ in range(self.count)]
        return lambda: self.compile(requests)

    def compile(self, requests: list[Any]) -> None:
        for one in requests:
            self.compiled += self.manager._create_grammar(one) is not None


def counted_round(parameters: dict[str, Any]) -> Round:
    return Compiling(parameters).prepare()


def test_compile(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The grammars of new requests."""
    compiling = Compiling(parameters)
    measure(benchmark, parameters, compiling.prepare, lambda: {"compiled": compiling.compiled})
