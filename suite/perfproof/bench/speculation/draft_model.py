"""One call of the proposer's `propose` with a draft model that is a stub: what EAGLE shares of the host path."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 32, "prompt_tokens": 64, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.spec_decode.llm_base_proposer:SpecDecodeBaseProposer.propose",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step with EAGLE, MTP or a draft model, in each worker: inputs and attention metadata are made again for every drafted token"
COUNT_AT = {"requests": 8}


class Drafting:
    """Steps of an engine that speculates; the round drafts once more for the step that was taken."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters, "draft_model")

    def prepare(self) -> Round:
        return self.parts.replayed(self.parts.runner.drafter, "propose")


def counted_round(parameters: dict[str, Any]) -> Round:
    return Drafting(parameters).prepare()


def test_draft_model(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's drafts."""
    drafting = Drafting(parameters)
    measure(benchmark, parameters, drafting.prepare, lambda: {"scheduled_tokens": drafting.parts.tokens})
