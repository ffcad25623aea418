"""One call of the runner's `_prepare_inputs` for requests with drafts: tokens and drafts are laid out, and which logits verify which."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "prompt_tokens": 64, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.worker.gpu_model_runner:GPUModelRunner._calc_spec_decode_metadata",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step with speculation in each worker, before the device has work"
COUNT_AT = {"requests": 16}


class Verifying:
    """Steps of an engine whose drafts are all accepted; the round lays out the step that was taken once more."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters, "ngram")

    def prepare(self) -> Round:
        return self.parts.replayed(self.parts.runner, "_prepare_inputs")


def counted_round(parameters: dict[str, Any]) -> Round:
    return Verifying(parameters).prepare()


def test_verify(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's tokens and drafts."""
    verifying = Verifying(parameters)
    measure(benchmark, parameters, verifying.prepare, lambda: {"scheduled_tokens": verifying.parts.tokens})
