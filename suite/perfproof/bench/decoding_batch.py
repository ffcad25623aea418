"""A batch in the middle of its decoding and the logits of its step: what the benchmarks of the sampler start from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from perfproof.bench import adapter
from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round

VOCABULARY = 4_096
"""Small, so that what the host does between the operators is most of a round."""


class Batch:
    """`requests` requests, the n-th with the parameters `sampling(n)`, in a V1 `InputBatch` with vLLM's own logits processors; `reasoning`
    are the marks of thinking, if there is a budget for it."""

    def __init__(self, parameters: Mapping[str, Any], sampling: Callable[[int], Mapping[str, Any]], reasoning: Any = None) -> None:
        import torch

        self.count, self.seed = parameters["requests"], parameters["seed"]
        self.sampling = sampling
        processors = engine.logits_processors(max_num_seqs=self.count)
        self.batch = adapter.input_batch(
            max_num_reqs=self.count, max_model_len=256, vocab_size=VOCABULARY, logitsprocs=processors, reasoning_config=reasoning
        )
        for n in range(self.count):
            self.batch.add_request(self.request(n))
        self.batch.refresh_metadata()
        self.logits = torch.randn((self.count, VOCABULARY), generator=torch.Generator().manual_seed(self.seed))
        self.sampler = engine.sampler()

    def request(self, n: int) -> Any:
        """The n-th request, in the middle of its output."""
        from vllm import SamplingParams

        params = SamplingParams(**{"max_tokens": 64, **self.sampling(n)})
        ids = engine.token_ids(48, self.seed + n)
        return adapter.cached_request(
            f"r{n}", [one % VOCABULARY for one in ids[:32]], [3 + one % 1_000 for one in ids[32:]], sampling_params=params
        )

    def sample(self) -> Any:
        """A step of the sampler over logits of its own; the sampled ids."""
        return self.sampler(self.logits.clone(), self.batch.sampling_metadata)


class Changing(Batch):
    """Between two rounds the last requests (`changed` of the parameters) are replaced by others; a round is the step that follows."""

    sampled = 0

    def __init__(self, parameters: Mapping[str, Any], sampling: Callable[[int], Mapping[str, Any]], reasoning: Any = None) -> None:
        self.changed = min(parameters["changed"], parameters["requests"])
        super().__init__(parameters, sampling, reasoning)

    def prepare(self) -> Round:
        for n in range(self.count - self.changed, self.count):
            self.batch.remove_request(f"r{n}")
        for n in range(self.count - self.changed, self.count):
            self.batch.add_request(self.request(n))
        return self.step

    def step(self) -> None:
        self.batch.refresh_metadata()
        self.sampled += len(self.sample().sampled_token_ids)
