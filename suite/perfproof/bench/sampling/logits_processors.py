"""A step in which the batch has changed, with logit biases, min tokens and min-p: the processors' states follow it, and are applied."""

from __future__ import annotations

from typing import Any

from perfproof.bench.decoding_batch import Changing
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 32, "changed": 2, "rounds": 40, "warmup_rounds": 5, "seed": 7}
EXERCISES = (
    "vllm.v1.sample.sampler:Sampler.apply_logits_processors",
    "vllm.v1.sample.logits_processor.builtin:LogitBiasLogitsProcessor.update_state",
    "vllm.v1.sample.logits_processor.builtin:MinTokensLogitsProcessor.apply",
    "vllm.v1.sample.logits_processor.builtin:MinPLogitsProcessor.apply",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step in which a request came or went, if any request of the batch has such a parameter"


def mixed(n: int) -> dict[str, Any]:
    """A third of the requests have a bias, all have a least length and a min-p."""
    return {
        "temperature": 1.0,
        "seed": n,
        "min_p": 0.1,
        "min_tokens": 48,
        "stop_token_ids": [5, 6],
        **({"logit_bias": {7: 2.0}} if n % 3 == 0 else {}),
    }


def counted_round(parameters: dict[str, Any]) -> Round:
    return Changing(parameters, mixed).prepare()


def test_logits_processors(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step of a batch that has changed."""
    changing = Changing(parameters, mixed)
    measure(benchmark, parameters, changing.prepare, lambda: {"sampled": changing.sampled})
