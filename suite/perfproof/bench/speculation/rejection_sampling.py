"""The sampler's call of a step with drafts (the runner's `_sample`): the rejection sampler's host path."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "prompt_tokens": 64, "sampling": "greedy", "rounds": 40, "warmup_rounds": 4, "seed": 7}
SAMPLING: dict[str, dict[str, Any]] = {
    "greedy": {},
    "random": {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "seed": 1},
    "constrained": {"min_tokens": 800, "stop_token_ids": [5], "presence_penalty": 0.5},
}
CHOICES = {"sampling": ("greedy", "random", "constrained")}
EXERCISES = ("vllm.v1.sample.rejection_sampler:RejectionSampler.forward",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step with speculation in each worker, behind the model"
COUNT_AT = {"requests": 16}


class Rejecting:
    """Steps of an engine that speculates; the round samples once more from the logits of the step that was taken."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters, "ngram", sampling=lambda n: SAMPLING[parameters["sampling"]])

    def prepare(self) -> Round:
        return self.parts.replayed(self.parts.runner, "_sample")


def counted_round(parameters: dict[str, Any]) -> Round:
    return Rejecting(parameters).prepare()


def test_rejection_sampling(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's drafts, accepted or not."""
    rejecting = Rejecting(parameters)
    measure(benchmark, parameters, rejecting.prepare, lambda: {"scheduled_tokens": rejecting.parts.tokens})
