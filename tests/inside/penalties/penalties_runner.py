"""A small runner: what vLLM's V1 runner does to its batch between two calls of its sampler, without a model.

Requests enter, finish, are preempted and resumed, continue with another prompt, lose tokens, get drafts; with asynchronous
scheduling their tokens are placeholders (-1) that are repaired a step later.
"""

from __future__ import annotations

import importlib
import types
from typing import Any

from perfproof.bench import adapter
from perfproof.bench.penalties import Arrived

ROWS, LENGTH, VOCAB = 6, 72, 23


class Runner:
    """What vLLM's V1 runner does to its batch, without a model."""

    def __init__(self, *, device: str, asynchronous: bool) -> None:
        self.device = device
        self.asynchronous = asynchronous
        self.batch = adapter.input_batch(
            max_num_reqs=ROWS, max_model_len=LENGTH, vocab_size=VOCAB, device=device, pin_memory=device == "cuda", num_spec_tokens=3
        )
        self.requests: dict[str, Any] = {}
        self.continuing: list[Any] = []
        self.produced: dict[str, list[int]] = {}
        self.unrepaired: dict[str, list[int]] = {}
        self.optimistic: dict[str, int] = {}

    def enter(self, req_id: str, prompt: list[int], params: dict[str, float], bad_words: list[list[int]] | None = None) -> None:
        from vllm import SamplingParams

        sampling = SamplingParams(**params)
        sampling._bad_words_token_ids = bad_words
        self.requests[req_id] = adapter.cached_request(req_id, prompt, sampling_params=sampling, block_ids=[0])
        self.produced[req_id] = []
        self.batch.add_request(self.requests[req_id])

    def finish(self, req_id: str) -> None:
        self.preempt(req_id)
        del self.requests[req_id], self.produced[req_id]

    def preempt(self, req_id: str) -> None:
        self.batch.remove_request(req_id)
        self.unrepaired.pop(req_id, None)
        self.optimistic.pop(req_id, None)

    def resume(self, req_id: str) -> None:
        """Back into the batch; the scheduler knows the tokens that were still placeholders here."""
        request = self.requests[req_id]
        if self.asynchronous and self.produced[req_id]:
            request.output_token_ids = list(self.produced[req_id])
        self.batch.add_request(request)

    def go_on(self, req_id: str, prompt: list[int]) -> None:
        """A streaming request: its output becomes part of a new prompt, and the same list starts again."""
        request = self.requests[req_id]
        self.preempt(req_id)
        request.prompt_token_ids = list(prompt)
        request.num_prompt_tokens = len(prompt)
        request.output_token_ids.clear()
        self.produced[req_id] = []
        self.continuing.append(request)

    def admit(self) -> None:
        """Adds the requests that continue; a batch takes no removals once something was added."""
        while self.continuing:
            self.batch.add_request(self.continuing.pop(0))

    def shrink(self, req_id: str, length: int) -> None:
        """Tokens are discarded, as after a failed load of the KV cache."""
        out = self.requests[req_id].output_token_ids
        row = self.batch.req_id_to_index[req_id]
        del out[length:]
        del self.produced[req_id][length:]
        self.unrepaired.pop(req_id, None)
        self.optimistic.pop(req_id, None)
        self.batch.num_tokens_no_spec[row] = self.batch.num_prompt_tokens[row] + length

    def draft(self, req_id: str, tokens: list[int]) -> None:
        adapter.speculate(self.batch, self.requests[req_id], tokens)

    def settle(self) -> None:
        """Closes the gaps; the batch is complete for this step."""
        self.batch.condense()

    def sample(self, logits: Any, draft_logits: Any, *, repair: bool) -> list[Any]:
        """What the sampler makes of these logits: penalised, for the outputs' next tokens and for the drafts."""
        self._take_drafts_for_granted()
        metadata = self.batch.sampling_metadata
        if repair:
            self.batch.update_async_output_token_ids()
            self.unrepaired.clear()
        sampler = importlib.import_module("vllm.v1.sample.sampler").Sampler
        if not any(self.batch.spec_token_ids):
            return [sampler.apply_penalties(logits, metadata, metadata.output_token_ids)]
        combined = metadata.output_token_ids
        if not metadata.no_penalties:
            combined = sampler._combine_outputs_with_spec_tokens(combined, metadata.spec_token_ids)
        bonus = sampler.apply_penalties(logits, metadata, combined)
        return [bonus, self._penalised_drafts(draft_logits, metadata)]

    def _take_drafts_for_granted(self) -> None:
        """Asynchronous scheduling assumes that all drafts of the last step were accepted until it hears otherwise."""
        for req_id, drafts in self.optimistic.items():
            self.requests[req_id].output_token_ids.extend([-1] * drafts)
        self.optimistic.clear()

    def _penalised_drafts(self, draft_logits: Any, metadata: Any) -> Any:
        import torch

        rejection = importlib.import_module("vllm.v1.sample.rejection_sampler").RejectionSampler
        drafts = [len(spec) for spec in self.batch.spec_token_ids[: self.batch.num_reqs]]
        repeated = torch.arange(len(drafts)).repeat_interleave(torch.tensor(drafts)).to(self.device)
        logits = draft_logits[: len(repeated)]
        if metadata.no_penalties:
            return logits
        combined = rejection._combine_outputs_with_spec_tokens(metadata.output_token_ids, metadata.spec_token_ids)
        return rejection.apply_penalties(logits, metadata, types.SimpleNamespace(num_draft_tokens=drafts), repeated, combined)

    def book(self, sampled: dict[str, list[int]]) -> None:
        """Appends what was sampled: the tokens, or placeholders for them."""
        batch = self.batch
        for req_id, tokens in sampled.items():
            row = batch.req_id_to_index[req_id]
            written = [-1] if self.asynchronous else tokens
            start = batch.num_tokens_no_spec[row]
            batch.token_ids_cpu[row, start : start + len(written)] = written
            batch.num_tokens_no_spec[row] = start + len(written)
            self.requests[req_id].output_token_ids.extend(written)
            self.produced[req_id] += tokens
            self.unrepaired.setdefault(req_id, []).extend(tokens)
            if self.asynchronous and batch.spec_token_ids[row]:
                self.optimistic[req_id] = len(batch.spec_token_ids[row])
        if self.asynchronous:
            self._send(sampled)

    def _send(self, sampled: dict[str, list[int]]) -> None:
        """Sends the sampled tokens to the host, where they may be late."""
        import torch

        waiting = [self.unrepaired.get(req_id, []) if req_id in sampled else [] for req_id in self.batch.req_ids]
        width = max([1, *map(len, waiting)])
        ids = torch.tensor([tokens + [-1] * (width - len(tokens)) for tokens in waiting], dtype=torch.int32, device=self.device)
        # Upstream keeps the tokens of a step without drafts on the device, one a row, for the step after.
        self.batch.prev_sampled_token_ids = ids if width == 1 else ids[:, :1]
        event: Any = Arrived()
        if self.device == "cuda":
            event = torch.cuda.Event()
            ids = ids.to("cpu", non_blocking=True)
            event.record()
        self.batch.prev_req_id_to_index = {req_id: row for row, req_id in enumerate(self.batch.req_ids) if req_id in sampled}
        self.batch.set_async_sampled_token_ids(ids, event)
