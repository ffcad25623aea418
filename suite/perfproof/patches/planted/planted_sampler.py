"""A sampler that is wrong on purpose, in one way; `PERFPROOF_FAULT` says in which (see `chosen_fault`).

- `bf16_logits`: the logits go through bfloat16 before a token is chosen;
- `next_seed`: a request with seed n is sampled with n + 1;
- `top_k_one_less`: one token fewer is left to choose from;
- `early_logprobs`: the logprobs are those before temperature, top-k and top-p; the tokens are right;
- `neighbours_temperature`: every row has the temperature of the row above;
- `tie_to_the_last`: of several largest logits the last is taken, not the first;
- `rare`: every 997th step, the first row gets its runner-up.

The last but one can't be seen where no two logits are the same, the last in a run of fewer steps.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from perfproof.patches.guard import Patch, Target, original_of
from perfproof.patches.planted.chosen_fault import chosen

SAMPLE = Target("vllm.v1.sample.sampler", "Sampler.sample", {"0.32.0": "59f938c6cf4438a3"})
PATCH = Patch(
    name="planted_sampler",
    direction="adds",
    summary="a sampler that is wrong on purpose, to see which gate catches it",
    origin="the suite's own",
    holds={"0.32.0": frozenset({"cpu"})},
    targets=(SAMPLE,),
)
RARE = 997
Sample = Callable[..., Any]


def bf16_logits(sample: Sample) -> Sample:
    def wrong(self: Any, logits: Any, metadata: Any, *rest: Any, **named: Any) -> Any:
        return sample(self, logits.bfloat16().float(), metadata, *rest, **named)

    return wrong


def next_seed(sample: Sample) -> Sample:
    shifted: weakref.WeakSet[Any] = weakref.WeakSet()

    def wrong(self: Any, logits: Any, metadata: Any, *rest: Any, **named: Any) -> Any:
        for generator in metadata.generators.values():
            if generator not in shifted:
                generator.manual_seed(generator.initial_seed() + 1)
                shifted.add(generator)
        return sample(self, logits, metadata, *rest, **named)

    return wrong


def top_k_one_less(sample: Sample) -> Sample:
    def wrong(self: Any, logits: Any, metadata: Any, *rest: Any, **named: Any) -> Any:
        seen = copy.copy(metadata)
        if metadata.top_k is not None:
            fewer = (metadata.top_k - 1).clamp(min=1)
            seen.top_k = fewer.where(metadata.top_k < logits.shape[1], metadata.top_k)
        return sample(self, logits, seen, *rest, **named)

    return wrong


def early_logprobs(sample: Sample) -> Sample:
    def wrong(self: Any, logits: Any, metadata: Any, *rest: Any, **named: Any) -> Any:
        early = self.compute_logprobs(logits)
        tokens, logprobs = sample(self, logits, metadata, *rest, **named)
        return tokens, early if logprobs is not None else None

    return wrong


def neighbours_temperature(sample: Sample) -> Sample:
    def wrong(self: Any, logits: Any, metadata: Any, *rest: Any, **named: Any) -> Any:
        seen = copy.copy(metadata)
        if metadata.temperature is not None:
            seen.temperature = metadata.temperature.roll(1)
        return sample(self, logits, seen, *rest, **named)

    return wrong


def tie_to_the_last(sample: Sample) -> Sample:
    def wrong(self: Any, logits: Any, metadata: Any, *rest: Any, **named: Any) -> Any:
        tokens, logprobs = sample(self, logits, metadata, *rest, **named)
        if metadata.all_greedy:
            tokens = logits.shape[1] - 1 - logits.flip(1).argmax(dim=1).to(tokens.dtype)
        return tokens, logprobs

    return wrong


def rare(sample: Sample) -> Sample:
    steps = iter(range(1, 2**62))

    def wrong(self: Any, logits: Any, metadata: Any, *rest: Any, **named: Any) -> Any:
        tokens, logprobs = sample(self, logits, metadata, *rest, **named)
        if next(steps) % RARE == 0:
            tokens[0] = logits[0].topk(2).indices[1]
        return tokens, logprobs

    return wrong


FAULTS: Mapping[str, Callable[[Sample], Sample]] = {
    fault.__name__: fault
    for fault in (bf16_logits, next_seed, top_k_one_less, early_logprobs, neighbours_temperature, tie_to_the_last, rare)
}


def register() -> None:
    PATCH.apply(lambda: {SAMPLE.qualname: chosen(PATCH.name, FAULTS)(original_of(SAMPLE))})
