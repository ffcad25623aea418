"""`StructuredOutputManager.grammar_init` of a server's first request with a grammar: the backend is made, which reads the vocabulary."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.structured_output.grammars import Grammars, await_grammar

PARAMETERS = {"requests": 1, "backend": "xgrammar", "rounds": 10, "warmup_rounds": 1, "seed": 7}
CHOICES = {"backend": ("xgrammar", "guidance")}
EXERCISES = ("vllm.v1.structured_output:StructuredOutputManager.grammar_init",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once in an engine's life, in its process: whoever comes meanwhile waits, and a large vocabulary takes longer"


class First(Grammars):
    """Each round the manager forgets its backend, and a request comes that it has not seen."""

    answered = 0

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__(parameters)
        if hasattr(self.manager, "_use_async_grammar_compilation"):
            self.manager._use_async_grammar_compilation = False  # so that no other thread takes part

    def prepare(self) -> Round:
        self.manager.backend = None
        request = self.request(self.made)
        return lambda: self.come(request)

    def come(self, request: Any) -> None:
        self.manager.grammar_init(request)
        await_grammar(request)
        self.answered += 1


def counted_round(parameters: dict[str, Any]) -> Round:
    return First(parameters).prepare()


def test_first_request(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The first grammar of a server."""
    first = First(parameters)
    measure(benchmark, parameters, first.prepare, lambda: {"requests": first.answered})
