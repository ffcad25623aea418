"""Penalties from counts that lie on the logits' device and change only by the new tokens.

vLLM's V1 sampler counts every request's whole output, and its whole prompt, again at every decode step.
Here each row of the batch keeps how often it has produced each token (int32 `[rows, vocabulary]`) and
how far its output has been counted; a step adds only new tokens. The cost of a step does not depend on
the length of the outputs. The tokens of a prompt (bool `[rows, vocabulary]`) are marked once per request,
and only if some request has a repetition penalty.

A row's counts belong to the *list object* that the runner keeps a request's output in. Lists that
changed rows (swap, condense) take their counts along. A list that is new, or that was added to the batch
again (resumed, or continued with another prompt), is counted from the start, and so is a list that has
become shorter. A placeholder (-1, asynchronous scheduling) is not counted before it is repaired. Drafts
are added for the operation and taken off again.

Under asynchronous scheduling upstream waits, before it samples, until the tokens of the step before have come
to the host. If only penalties read the output lists in that step, and every row has at most one new token,
the newest tokens are counted on the device, where the sampler left them (`prev_sampled_token_ids`), there is
no wait, and the lists are repaired later (`on the device penalties_incremental`). Bad words, logits
processors that read outputs, a thinking budget, speculation, rows that lost or regained tokens: such a step
waits as upstream does (`awaited the host penalties_incremental`).

In uncertain cases upstream's code runs: a batch whose filling it has not seen, a vocabulary other than the
batch's, rows that are not the batch's, tokens out of range (counted as `fallback penalties_incremental`).

The arithmetic is upstream's, in upstream's order: on a GPU in one pass (`penalties_kernel`), elsewhere with upstream's
repetition operator. Steps that could not change a bit (all their factors +0.0, or 1.0 for repetition) are left out.

Not upstream's, not prime-rl's: vLLM #47540 and #27709 aim at the same.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from perfproof.patches.guard import Patch, Target, counter, original_of
from perfproof.patches.penalties.token_counts import Newest, Tally

NAME = "penalties_incremental"

APPLY = Target(
    "vllm.v1.sample.sampler",
    "Sampler.apply_penalties",
    {"0.22.0": "6fe02ed4915339fa", "0.32.0": "6fe02ed4915339fa"},
)
APPLY_TO_DRAFTS = Target(
    "vllm.v1.sample.rejection_sampler",
    "RejectionSampler.apply_penalties",
    {"0.22.0": "663c3c72fe733f88", "0.32.0": "663c3c72fe733f88"},
)
OPERATION = Target(
    "vllm.v1.sample.ops.penalties",
    "apply_penalties",
    {"0.22.0": "9d4bc7f46cdb35b1", "0.32.0": "a7b2e6ae8fd7cb01"},
)
ENTER = Target(
    "vllm.v1.worker.gpu_input_batch",
    "InputBatch.add_request",
    {"0.22.0": "1623645fc08dada5", "0.32.0": "d1d5a3ee7945bb4c"},
)
REPAIR = Target(
    "vllm.v1.worker.gpu_input_batch",
    "InputBatch.update_async_output_token_ids",
    {"0.22.0": "d49fe0fd5f447d81", "0.32.0": "a356345c5d0167db"},
)

PATCH = Patch(
    name=NAME,
    direction="adds",
    summary="penalties keep counts per row and add the new tokens, instead of counting whole outputs at every step",
    origin="perfproof",
    holds={"0.22.0": frozenset({"cpu", "cuda"}), "0.32.0": frozenset({"cpu"})},
    targets=(APPLY, APPLY_TO_DRAFTS, OPERATION, ENTER, REPAIR),
)


def register() -> None:
    """The entry point: replaces the sampler's penalties, or refuses."""
    PATCH.apply(replacements)


def replacements() -> Mapping[str, Callable[..., Any]]:
    """The new functions, around this vLLM's own."""
    penalties = Penalties(*map(original_of, (APPLY, APPLY_TO_DRAFTS, OPERATION, ENTER, REPAIR)))
    return {
        APPLY.name: penalties.apply_penalties,
        APPLY_TO_DRAFTS.name: penalties.apply_penalties_to_drafts,
        OPERATION.name: penalties.operation,
        ENTER.name: penalties.add_request,
        REPAIR.name: penalties.update_async_output_token_ids,
    }


Drafts: TypeAlias = "tuple[list[int], list[int]]"
"""Rows of the logits, and the draft token that each of them sees beyond its output."""


@dataclass(frozen=True)
class Needed:
    """Which penalties of a batch can change a logit at all."""

    presence: bool = True
    frequency: bool = True
    repetition: bool = True


@dataclass(frozen=True)
class Counted:
    """The operation's input instead of the output tokens: int32 `[rows, vocabulary]`, and the prompts' tokens, if needed.

    Tokens that are `newest` are not in the counts yet: the operation counts them first.
    """

    counts: Any
    prompt_mask: Any
    needed: Needed
    newest: Newest | None = None


class Penalties:
    """The sampler's penalties, with a tally for every live batch."""

    def __init__(
        self,
        apply: Callable[..., Any],
        apply_to_drafts: Callable[..., Any],
        operation: Callable[..., Any],
        enter: Callable[..., Any],
        repair: Callable[..., Any],
    ) -> None:
        self._apply = apply
        self._apply_to_drafts = apply_to_drafts
        self._operation = operation
        self._enter = enter
        self._repair = repair
        self._batches: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._tallies: weakref.WeakKeyDictionary[Any, Tally] = weakref.WeakKeyDictionary()
        self._needed: tuple[Any, Needed] = (None, Needed())
        self._fast = counter(f"fast {NAME}")
        self._fallback = counter(f"fallback {NAME}")
        self._on_device = counter(f"on the device {NAME}")
        self._awaited = counter(f"awaited the host {NAME}")

    def add_request(self, batch: Any, request: Any) -> Any:
        """Adds a request; earlier counts for it are no longer valid."""
        self.pay(batch)
        row = self._enter(batch, request)
        self._batches[id(batch.req_output_token_ids)] = batch
        tally = self._tallies.get(batch)
        if tally is not None:
            tally.forget(request.output_token_ids)
        return row

    def pay(self, batch: Any) -> None:
        """Writes into the batch's output lists the tokens that were counted on the device."""
        tally = self._tallies.get(batch)
        if tally is not None:
            tally.pay()

    def update_async_output_token_ids(self, batch: Any) -> None:
        """Called before the sampler runs: repairs the newest placeholders, unless these tokens can be counted on the device."""
        tally = self._tallies.get(batch)
        if tally is not None and only_penalties_read_outputs(batch):
            known = batch.prev_req_id_to_index
            places = [known.get(req_id, -1) for req_id in batch.req_ids]
            arriving, event = batch.sampled_token_ids_cpu, batch.async_copy_ready_event
            if tally.expect(batch.req_output_token_ids, places, batch.prev_sampled_token_ids, arriving, event):
                return
        self._repair_now(batch, tally)

    def _repair_now(self, batch: Any, tally: Tally | None) -> None:
        """Upstream's repair, which waits for the newest tokens, on lists that are owed nothing older."""
        if tally is not None:
            tally.pay()
            self._awaited.add(int(batch.sampled_token_ids_cpu is not None and bool(batch.sampling_metadata.output_token_ids)))
        self._repair(batch)

    def apply_penalties(self, logits: Any, sampling_metadata: Any, output_token_ids: Sequence[list[int]]) -> Any:
        """Penalises `logits`, float32 `[rows, vocabulary]`, in place."""
        if sampling_metadata.no_penalties:
            return logits
        drafts = drafts_in(output_token_ids, sampling_metadata)
        tally = self._followed(logits, sampling_metadata, output_token_ids, drafts)
        if tally is None or drafts is None:
            return self._apply(logits, sampling_metadata, output_token_ids)
        counts = tally.counts[: len(logits)]
        tally.add(counts, *drafts, amount=1)
        self._fed(logits, tally, counts, slice(len(logits)), sampling_metadata)
        tally.add(counts, *drafts, amount=-1)
        return logits

    def apply_penalties_to_drafts(
        self, logits: Any, sampling_metadata: Any, metadata: Any, repeat_indices: Any, output_token_ids: Sequence[list[int]]
    ) -> Any:
        """The same for the rejection sampler: one row of `logits` per draft token, which sees the drafts before it."""
        if sampling_metadata.no_penalties:
            return logits
        drafts = drafts_before(output_token_ids, sampling_metadata, metadata.num_draft_tokens)
        tally = self._followed(logits, sampling_metadata, output_token_ids, drafts)
        if tally is None or drafts is None:
            return self._apply_to_drafts(logits, sampling_metadata, metadata, repeat_indices, output_token_ids)
        counts = tally.counts[repeat_indices]
        tally.add(counts, *drafts, amount=1)
        return self._fed(logits, tally, counts, repeat_indices, sampling_metadata)

    def _followed(self, logits: Any, sampling_metadata: Any, output_token_ids: Sequence[list[int]], drafts: Drafts | None) -> Tally | None:
        """The live batch's tally, brought up to date; None, with everything dropped, in an uncertain case."""
        rows = sampling_metadata.output_token_ids
        batch = self._batches.get(id(rows))
        if batch is not None and batch.req_output_token_ids is rows:
            known = self._tallies.get(batch)
            fits = drafts is not None and batch.vocab_size == logits.shape[1] and len(logits) == len(output_token_ids)
            if known is not None and known.expecting and not (fits and output_token_ids is rows and known.device == logits.device):
                self._repair_now(batch, known)
            tally = self._up_to_date(batch, logits, sampling_metadata) if fits else None
            if tally is not None and drafts is not None and tally.in_range(drafts[1]):
                self._fast.add()
                return tally
            self.pay(batch)
            self._tallies.pop(batch, None)
        self._fallback.add()
        return None

    def _up_to_date(self, batch: Any, logits: Any, sampling_metadata: Any) -> Tally | None:
        tally = self._tallies.get(batch)
        if tally is None or tally.device != logits.device:
            self.pay(batch)
            tally = self._tallies[batch] = Tally(logits.shape[1], logits.device, batch.max_num_reqs)
        rows = sampling_metadata.output_token_ids
        if tally.take_newest(rows):
            self._on_device.add()
        elif not tally.follow(rows):
            return None
        if self._need(batch, sampling_metadata).repetition:
            tally.learn_prompts(len(rows), sampling_metadata.prompt_token_ids)
        return tally

    def _need(self, batch: Any, sampling_metadata: Any) -> Needed:
        """Which penalties the batch needs; determined once for each metadata object, because the batch makes a new one when it changes."""
        known, needed = self._needed
        if known is not sampling_metadata:
            needed = needed_by(batch) if sampling_metadata is batch.sampling_metadata else Needed()
            self._needed = (sampling_metadata, needed)
        return needed

    def _fed(self, logits: Any, tally: Tally, counts: Any, rows: Any, sampling_metadata: Any) -> Any:
        """Calls the operation by the name that upstream calls it by."""
        from vllm.v1.sample.ops import penalties

        needed = self._needed[1]
        newest, tally.newest = tally.newest, None
        counted = Counted(counts, tally.prompt_mask[rows] if needed.repetition else None, needed, newest)
        return penalties.apply_penalties(
            logits,
            None,
            counted,
            sampling_metadata.presence_penalties[rows],
            sampling_metadata.frequency_penalties[rows],
            sampling_metadata.repetition_penalties[rows],
        )

    def operation(self, logits: Any, prompt: Any, output: Any, presence: Any, frequency: Any, repetition: Any) -> Any:
        """The operation over the vocabulary: upstream's for tokens, ours for counts."""
        if not isinstance(output, Counted):
            return self._operation(logits, prompt, output, presence, frequency, repetition)
        if logits.is_cuda and logits.is_contiguous():
            in_one_pass(logits, output, presence, frequency, repetition)
        else:
            step_by_step(logits, output, presence, frequency, repetition)
        return logits


def in_one_pass(logits: Any, counted: Counted, presence: Any, frequency: Any, repetition: Any) -> None:
    """Penalises `logits` in place with one kernel."""
    from perfproof.patches.penalties.penalties_kernel import penalise

    needed, newest = counted.needed, counted.newest
    penalise(
        logits,
        counted.counts,
        (presence, frequency, repetition),
        (needed.presence, needed.frequency, needed.repetition),
        prompt_mask=counted.prompt_mask,
        places=newest.places if newest is not None else None,
        newest=newest.tokens if newest is not None else None,
    )


def step_by_step(logits: Any, counted: Counted, presence: Any, frequency: Any, repetition: Any) -> None:
    """Penalises `logits` in place with PyTorch's operators and upstream's for repetition."""
    from vllm._custom_ops import apply_repetition_penalties

    if counted.newest is not None:
        count_newest(counted.counts, counted.newest)
    needed = counted.needed
    produced = counted.counts > 0 if needed.presence or needed.repetition else None
    if needed.repetition:
        apply_repetition_penalties(logits, counted.prompt_mask, produced, repetition)
    if needed.frequency:
        logits -= frequency.unsqueeze(dim=1) * counted.counts
    if needed.presence:
        logits -= presence.unsqueeze(dim=1) * produced


def count_newest(counts: Any, newest: Newest) -> None:
    """Adds each row's newest token to `counts`, int32 `[rows, vocabulary]`."""
    rows = (newest.places >= 0).nonzero().flatten()
    tokens = newest.tokens[newest.places[rows].long(), 0].long()
    known = tokens >= 0
    counts[rows[known], tokens[known]] += 1


def only_penalties_read_outputs(batch: Any) -> bool:
    """Whether the step before left one token per row on the device, and only penalties need the outputs' values now."""
    arriving, sampled, metadata = batch.sampled_token_ids_cpu, batch.prev_sampled_token_ids, batch.sampling_metadata
    if arriving is None or sampled is None or batch.prev_req_id_to_index is None or metadata.no_penalties:
        return False
    holder = metadata.thinking_budget_state_holder
    return bool(
        sampled.shape == arriving.shape
        and sampled.shape[1] == 1
        and metadata.output_token_ids is batch.req_output_token_ids
        and not metadata.bad_words_token_ids
        and not batch.logitsprocs_need_output_token_ids
        and not any(metadata.spec_token_ids or ())
        and not (holder is not None and holder.has_tracked_requests())
    )


def needed_by(batch: Any) -> Needed:
    """Which penalties of the batch's rows are not neutral, to the bit: -0.0 would turn a logit of -0.0 into +0.0."""
    rows = batch.num_reqs
    return Needed(
        presence=bool(batch.presence_penalties_cpu[:rows].view("int32").any()),
        frequency=bool(batch.frequency_penalties_cpu[:rows].view("int32").any()),
        repetition=bool((batch.repetition_penalties_cpu[:rows] != 1.0).any()),
    )


def drafts_in(output_token_ids: Sequence[list[int]], sampling_metadata: Any) -> Drafts | None:
    """The drafts that the sampler appended to the batch's outputs; None if that is not what these rows are."""
    held, specs = sampling_metadata.output_token_ids, sampling_metadata.spec_token_ids
    drafts: Drafts = ([], [])
    if output_token_ids is held:
        return drafts
    if len(output_token_ids) != len(held):
        return None
    for row, (out, own) in enumerate(zip(output_token_ids, held, strict=True)):
        if out is own:
            continue
        if specs is None or len(out) != len(own) + len(specs[row]) or out[len(own) :] != specs[row]:
            return None
        see(drafts, row, specs[row])
    return drafts


def drafts_before(output_token_ids: Sequence[list[int]], sampling_metadata: Any, num_draft_tokens: Sequence[int]) -> Drafts | None:
    """The drafts before each draft, as the rejection sampler appended them; None if that is not what these rows are."""
    held, specs = sampling_metadata.output_token_ids, sampling_metadata.spec_token_ids
    drafts: Drafts = ([], [])
    if specs is None or list(num_draft_tokens) != [len(spec) for _, spec in zip(held, specs, strict=False)]:
        return None
    places = [(own, spec, place) for own, spec in zip(held, specs, strict=False) for place in range(len(spec))]
    if [len(out) for out in output_token_ids] != [len(own) + place for own, _, place in places]:
        return None
    for row, (_, spec, place) in enumerate(places):
        see(drafts, row, spec[:place])
    return drafts


def see(drafts: Drafts, row: int, tokens: Sequence[int]) -> None:
    """Adds these drafts to those that a row of the logits sees; -1 pads a draft that is too short."""
    seen = [token for token in tokens if token != -1]
    drafts[0].extend([row] * len(seen))
    drafts[1].extend(seen)
