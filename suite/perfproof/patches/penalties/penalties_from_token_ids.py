"""Penalties fed from the runner's token array instead of its Python lists.

With any penalty on, vLLM's V1 sampler turns every request's whole output, a Python list, into one
padded int64 tensor at every decode step. The same tokens are already in `InputBatch.token_ids_cpu`
as int32, so this patch copies them from there, array to array, into one of two standing buffers
(pinned where the logits live on a GPU, so that a copy under way is never written over).

It is used only where it can't differ: row *i* of the sampler's lists must *be* (the same object) row *i*
of the batch that the runner has just announced; otherwise upstream converts the lists
(counted as `fallback penalties_from_token_ids`).

Under asynchronous scheduling the runner writes the placeholder -1 into list and array, and repairs the
list alone a step later. This patch writes the repaired tokens into the array as well. There, list and
array can also get out of step in length (drafts that are assumed to be accepted; placeholders that
are never repaired), and then moving a row moves too little of its array: from the first time that this is seen,
such a row is converted from its list (counted as `rows from lists penalties_from_token_ids`).

Origin: prime-rl #2772, for vLLM 0.22.0. Written from its description.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from perfproof.patches.guard import Patch, Target, counter, original_of

NAME = "penalties_from_token_ids"

APPLY = Target(
    "vllm.v1.sample.sampler",
    "Sampler.apply_penalties",
    {"0.22.0": "6fe02ed4915339fa", "0.32.0": "6fe02ed4915339fa"},
)
REPAIR = Target(
    "vllm.v1.worker.gpu_input_batch",
    "InputBatch.update_async_output_token_ids",
    {"0.22.0": "d49fe0fd5f447d81", "0.32.0": "a356345c5d0167db"},
)

PATCH = Patch(
    name=NAME,
    direction="adds",
    summary="penalties read the output tokens from token_ids_cpu instead of converting Python lists at every step",
    origin="prime-rl #2772",
    holds={"0.22.0": frozenset({"cpu", "cuda"}), "0.32.0": frozenset({"cpu"})},
    targets=(APPLY, REPAIR),
)


def register() -> None:
    """The entry point: replaces the feeding and the repair, or refuses."""
    PATCH.apply(replacements)


def replacements() -> Mapping[str, Callable[..., Any]]:
    """The new functions, around this vLLM's own."""
    feed = Feed(apply=original_of(APPLY), repair=original_of(REPAIR))
    return {APPLY.qualname: feed.apply_penalties, REPAIR.qualname: feed.update_async_output_token_ids}


class Feed:
    """The input of the penalties operation, and the batch that it is read from.

    The batch is a weak reference, renewed at every step when the runner announces it: the runner replaces
    its batch once the KV cache exists.
    """

    def __init__(self, *, apply: Callable[..., Any], repair: Callable[..., Any]) -> None:
        self._apply = apply
        self._repair = repair
        self._live: Callable[[], Any] = lambda: None
        self._staging: dict[str, Staging] = {}
        self._out_of_step: dict[int, Sequence[int]] = {}
        self._fast = counter(f"fast {NAME}")
        self._fallback = counter(f"fallback {NAME}")
        self._rows_from_lists = counter(f"rows from lists {NAME}")

    def apply_penalties(self, logits: Any, sampling_metadata: Any, output_token_ids: Sequence[Sequence[int]]) -> Any:
        """Penalises `logits`, float32 `[rows, vocabulary]`, in place: upstream's operation on tokens from the token array."""
        if sampling_metadata.no_penalties:
            return logits
        batch = self._live()
        if batch is None or not are_rows_of(batch, output_token_ids):
            self._fallback.add()
            return self._apply(logits, sampling_metadata, output_token_ids)
        self._fast.add()
        from vllm.v1.sample.ops import penalties

        return penalties.apply_penalties(
            logits,
            sampling_metadata.prompt_token_ids,
            self._outputs(batch, output_token_ids, logits.shape[1], logits.device),
            sampling_metadata.presence_penalties,
            sampling_metadata.frequency_penalties,
            sampling_metadata.repetition_penalties,
        )

    def _outputs(self, batch: Any, output_token_ids: Sequence[Sequence[int]], vocab_size: int, device: Any) -> Any:
        """The outputs as int64 `[rows, longest]` on `device`, with `vocab_size` for padding and placeholders."""
        staging = self._staging.setdefault(str(device), Staging(device))
        padded = staging.take(len(output_token_ids), max(map(len, output_token_ids), default=0))
        self._rows_from_lists.add(fill(padded.numpy(), batch, output_token_ids, vocab_size, self._out_of_step))
        return staging.hand_on(padded)

    def update_async_output_token_ids(self, batch: Any) -> None:
        """Repairs the placeholders as upstream does, and in the array too."""
        self._live = weakref.ref(batch)
        if batch.prev_req_id_to_index is None:
            self._out_of_step = {}
            self._repair(batch)
            return
        before = rows_out_of_step(batch)
        repaired = rows_with_placeholders(batch)
        self._repair(batch)
        for row, first in repaired:
            write_back(batch, row, first)
        rows = batch.req_output_token_ids
        known = {id(out): out for out in rows if id(out) in self._out_of_step}
        self._out_of_step = known | {id(rows[row]): rows[row] for row in before + rows_out_of_step(batch)}


def are_rows_of(batch: Any, output_token_ids: Sequence[Sequence[int]]) -> bool:
    """Whether each of these lists is the same object as the batch's list of that row."""
    held = batch.req_output_token_ids
    if output_token_ids is held:
        return True
    return len(output_token_ids) == len(held) and all(one is other for one, other in zip(output_token_ids, held, strict=True))


def rows_out_of_step(batch: Any) -> list[int]:
    """The rows whose array holds more or fewer output tokens than their list."""
    rows = batch.req_output_token_ids
    held = batch.num_tokens_no_spec[: len(rows)] - batch.num_prompt_tokens[: len(rows)]
    rows_found: list[int] = np.nonzero(held != np.fromiter(map(len, rows), np.int64, len(rows)))[0].tolist()
    return rows_found


def fill(padded: Any, batch: Any, output_token_ids: Sequence[Sequence[int]], pad: int, out_of_step: Mapping[int, Any]) -> int:
    """Writes every row's output into `padded`, int64 `[rows, longest]`; returns how many had to come from their lists."""
    from_lists = 0
    starts = batch.num_prompt_tokens[: len(output_token_ids)].tolist()
    ends = batch.num_tokens_no_spec[: len(output_token_ids)].tolist()
    for row, (out, start, end) in enumerate(zip(output_token_ids, starts, ends, strict=True)):
        known = batch.token_ids_cpu[row, start:end]
        if len(known) != len(out) or id(out) in out_of_step:
            known = np.array(out, dtype=np.int64)
            from_lists += 1
        padded[row, : len(known)] = known
        padded[row, len(known) :] = pad
        # The minimum of a row still in the cache is far cheaper than a comparison of the whole tensor.
        if len(known) and known.min() < 0:
            padded[row, : len(known)][known == -1] = pad
    return from_lists


def rows_with_placeholders(batch: Any) -> list[tuple[int, int]]:
    """The rows whose output ends in placeholders that are due for repair, each with the place of its first one."""
    outputs = batch.sampling_metadata.output_token_ids
    if batch.sampled_token_ids_cpu is None or not outputs:
        return []
    return [(row, first_placeholder(out)) for row, out in enumerate(outputs) if out and out[-1] == -1]


def first_placeholder(out: Sequence[int]) -> int:
    """Where the -1 at the end of an output begin."""
    first = len(out)
    while first and out[first - 1] == -1:
        first -= 1
    return first


def write_back(batch: Any, row: int, first: int) -> None:
    """Writes a row's output from `first` on into the token array."""
    out = batch.sampling_metadata.output_token_ids[row]
    start = int(batch.num_prompt_tokens[row])
    batch.token_ids_cpu[row, start + first : start + len(out)] = out[first:]


class Staging:
    """Two flat int64 buffers, used in turn, which grow as needed.

    For a GPU they are pinned, and a buffer is written again only once the copy out of it is done.
    """

    def __init__(self, device: Any) -> None:
        self.device = device
        self.pinned = device.type == "cuda"
        self._buffers: list[Any] = [None, None]
        self._copied: list[Any] = [None, None]
        self._turn = 0

    def take(self, rows: int, width: int) -> Any:
        """An int64 tensor `[rows, width]` in host memory, contents undefined."""
        import torch

        self._turn ^= 1
        if self._copied[self._turn] is not None:
            self._copied[self._turn].synchronize()
        buffer = self._buffers[self._turn]
        if buffer is None or buffer.numel() < rows * width:
            buffer = torch.empty(rows * width + rows * width // 4, dtype=torch.int64, pin_memory=self.pinned)
            self._buffers[self._turn] = buffer
        return buffer[: rows * width].view(rows, width)

    def hand_on(self, padded: Any) -> Any:
        """The tensor last taken, on the device; the copy is not waited for."""
        import torch

        if not self.pinned:
            return padded
        on_device = padded.to(self.device, non_blocking=True)
        if self._copied[self._turn] is None:
            self._copied[self._turn] = torch.cuda.Event()
        self._copied[self._turn].record()
        return on_device
