"""A step of the V1 sampler for requests that think, some of which have used up their budget: the end of thinking is forced."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from perfproof.bench.adapter import find
from perfproof.bench.decoding_batch import Changing
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 32, "changed": 2, "budget": 16, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = (
    "vllm.v1.sample.thinking_budget_state:ThinkingBudgetStateHolder.update_state",
    "vllm.v1.sample.thinking_budget_state:ThinkingBudgetStateHolder.apply_to_logits",
    "vllm.v1.sample.thinking_budget_state:ThinkingBudgetStateHolder.sync_batch",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step as soon as one request of the batch has a thinking budget, in each worker"
START, END = 5, 6


class Thinking(Changing):
    """Requests in the middle of their thoughts."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        find("vllm.v1.sample.thinking_budget_state:ThinkingBudgetStateHolder")
        reasoning = SimpleNamespace(reasoning_start_token_ids=[START], reasoning_end_token_ids=[END], natural_reasoning_end_token_ids=[END])
        super().__init__(parameters, lambda n: {"temperature": 0.0, "thinking_token_budget": parameters["budget"]}, reasoning)

    def request(self, n: int) -> Any:
        request = super().request(n)
        request.prompt_token_ids[-1] = START
        return request


def counted_round(parameters: dict[str, Any]) -> Round:
    return Thinking(parameters).prepare()


def test_thinking_budget(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step of requests that think."""
    thinking = Thinking(parameters)
    measure(benchmark, parameters, thinking.prepare, lambda: {"sampled": thinking.sampled})
