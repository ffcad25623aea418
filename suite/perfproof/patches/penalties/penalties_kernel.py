"""One pass over the counts in place of five over `[rows, vocabulary]`: the penalties of `penalties_incremental` as a Triton kernel.

A row's newest token may be counted in the same pass, straight from where the sampler left it on the GPU. A logit is read
and written only where something can change it: where the token was produced, or is in the prompt and repetition is
penalised, or where a penalty is negative (subtracting -0.0 turns a logit of -0.0 into +0.0, as upstream's does).

Equal to upstream bit for bit: the products are rounded before they are subtracted (`enable_fp_fusion=False`: no fused
multiply-add), frequency comes before presence, and repetition divides a positive logit, correctly rounded, and multiplies any
other, as upstream's own CUDA kernel does.

This module is imported when there are logits on a GPU to penalise: elsewhere there may be no Triton.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

BLOCK = 4096
"""Tokens of one row that a program looks at."""


def penalise(
    logits: Any,
    counts: Any,
    penalties: tuple[Any, Any, Any],
    needed: tuple[bool, bool, bool],
    *,
    prompt_mask: Any = None,
    places: Any = None,
    newest: Any = None,
) -> None:
    """Penalises `logits`, float32 `[rows, vocabulary]`, in place; counts the newest tokens first.

    `counts` is int32 `[rows, vocabulary]`; `penalties` are presence, frequency and repetition, float32 `[rows]`, of which
    `needed` says which can change anything; `prompt_mask` is bool `[rows, vocabulary]`. Row *i*'s newest token is
    `newest[places[i], 0]` (int32), or none where `places[i]` (int32) is -1; it is added to `counts`.
    """
    rows, vocabulary = logits.shape
    grid = (rows, -(-vocabulary // BLOCK))
    _penalise[grid](
        logits,
        logits.stride(0),
        counts,
        counts.stride(0),
        counts if prompt_mask is None else prompt_mask,
        0 if prompt_mask is None else prompt_mask.stride(0),
        counts if places is None else places,
        counts if newest is None else newest,
        0 if newest is None else newest.stride(0),
        *penalties,
        vocabulary,
        PRESENCE=needed[0],
        FREQUENCY=needed[1],
        REPETITION=needed[2],
        NEWEST=newest is not None,
        BLOCK=BLOCK,
        enable_fp_fusion=False,
        num_warps=8,
    )


@triton.jit  # type: ignore[untyped-decorator]
def _penalise(  # type: ignore[no-untyped-def]
    logits_ptr,
    logits_stride,
    counts_ptr,
    counts_stride,
    prompt_ptr,
    prompt_stride,
    places_ptr,
    newest_ptr,
    newest_stride,
    presence_ptr,
    frequency_ptr,
    repetition_ptr,
    vocabulary,
    PRESENCE: tl.constexpr,
    FREQUENCY: tl.constexpr,
    REPETITION: tl.constexpr,
    NEWEST: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One block of one row: program (row, block)."""
    row = tl.program_id(0).to(tl.int64)
    tokens = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    there = tokens < vocabulary
    counted = counts_ptr + row * counts_stride + tokens
    count = tl.load(counted, mask=there, other=0)
    if NEWEST:
        place = tl.load(places_ptr + row)
        token = tl.load(newest_ptr + place * newest_stride, mask=place >= 0, other=-1)
        hit = tokens == token
        count += hit.to(tl.int32)
        tl.store(counted, count, mask=there & hit)
    produced = count > 0
    changes = produced
    signs = tokens * 0
    if PRESENCE:
        presence = tl.load(presence_ptr + row)
        signs |= (presence * 0.0).to(tl.int32, bitcast=True)
    if FREQUENCY:
        frequency = tl.load(frequency_ptr + row)
        signs |= (frequency * 0.0).to(tl.int32, bitcast=True)
    if REPETITION:
        repetition = tl.load(repetition_ptr + row)
        prompted = tl.load(prompt_ptr + row * prompt_stride + tokens, mask=there, other=0) != 0
        changes = produced | prompted
    touched = there & (changes | (signs != 0))
    where = logits_ptr + row * logits_stride + tokens
    logit = tl.load(where, mask=touched, other=0.0)
    if REPETITION:
        scaled = tl.where(logit > 0, tl.div_rn(logit, repetition + (tokens * 0).to(tl.float32)), logit * repetition)
        logit = tl.where(changes, scaled, logit)
    if FREQUENCY:
        logit = logit - frequency * count.to(tl.float32)
    if PRESENCE:
        logit = logit - presence * produced.to(tl.float32)
    tl.store(where, logit, mask=touched)
