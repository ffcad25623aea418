"""The grammar of each request takes a step's token (`accept_tokens`), and is asked whether it has ended."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.structured_output.grammars import Grammars
from perfproof.bench.texts import tokenizer

PARAMETERS = {"requests": 16, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.structured_output.backend_xgrammar:XgrammarGrammar.accept_tokens",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 4}
MEANS = "once a step with structured requests, within `update_from_output`"


class Advancing(Grammars):
    """Every answer begins with the same brace, again and again."""

    accepted = 0

    def prepare(self) -> Round:
        brace = tokenizer().convert_tokens_to_ids("{")
        grammars = [(name, one.structured_output_request.grammar) for name, one in self.requests.items()]
        for _, grammar in grammars:
            grammar.reset()

        def advance() -> None:
            for name, grammar in grammars:
                self.accepted += grammar.accept_tokens(name, [brace])
                grammar.is_terminated()

        return advance


def counted_round(parameters: dict[str, Any]) -> Round:
    return Advancing(parameters).prepare()


def test_advance(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's tokens."""
    advancing = Advancing(parameters)
    measure(benchmark, parameters, advancing.prepare, lambda: {"accepted": advancing.accepted})
