"""One call of the ngram proposer: the tokens that followed the last time are looked up in every request's own text."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "prompt_tokens": 256, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.spec_decode.ngram_proposer:NgramProposer.propose",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step with ngram speculation, after sampling: without asynchronous scheduling the device waits for it"
COUNT_AT = {"requests": 16}


class Proposing:
    """Steps of an engine that speculates; the round is the proposer's call of the step that was taken."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters, "ngram")

    def prepare(self) -> Round:
        return self.parts.replayed(self.parts.runner.drafter, "propose")


def counted_round(parameters: dict[str, Any]) -> Round:
    return Proposing(parameters).prepare()


def test_ngram(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's drafts."""
    proposing = Proposing(parameters)
    measure(benchmark, parameters, proposing.prepare, lambda: {"scheduled_tokens": proposing.parts.tokens})
