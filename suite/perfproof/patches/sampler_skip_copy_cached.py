"""The same as `sampler_skip_copy`, with the answer kept per slot: upstream's own later method (0.28.0, #52329), on 0.22.0 and 0.25.1.

The needs of a request's parameters are known when it is added, so `Sampler.add_request` checks once and
stores one bool for the slot; a step then reads one small array. A slot that was never filled counts as
*needs processing*: vLLM's memory profiling runs the sampler before any request exists, and so measures
the copy, and leaves as much memory to the KV cache as the unpatched arm has. (The author's way measures
no copy there: its KV cache may come out larger.) A slot that is reused is overwritten.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from perfproof.patches.guard import Patch, Target, original_of
from perfproof.patches.sampler_skip_copy import APPLY, MODULE, TESTED_ATTRIBUTES, rows_need_processing, skipping

FLAGS = "perfproof_needs_processing"
INIT = Target(MODULE, "Sampler.__init__", {"0.22.0": "62fd79b5c47fb9ad", "0.25.1": "fe8c10d813fd9088"})
ADD = Target(MODULE, "Sampler.add_request", {"0.22.0": "11d8ff97315fe785", "0.25.1": "11d8ff97315fe785"})

PATCH = Patch(
    name="sampler_skip_copy_cached",
    direction="adds",
    summary="keeps one flag per request slot, and copies the logits only if an active slot's flag is set",
    origin="https://github.com/vllm-project/vllm/pull/52329, carried back",
    holds={"0.22.0": frozenset({"cuda"}), "0.25.1": frozenset({"cuda"})},
    targets=(INIT, ADD, APPLY),
)


def flagged(sampler: Any, rows: Any) -> bool:
    """Whether any of those slots' flags is set."""
    return bool(getattr(sampler, FLAGS)[rows].any())


def keeping_flags(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """A `Sampler.__init__` that also makes the flags, one bool per slot, all set."""

    @functools.wraps(upstream)
    def __init__(self: Any, *args: Any, **named: Any) -> None:
        upstream(self, *args, **named)
        setattr(self, FLAGS, np.ones(self.sampling_states.max_num_reqs, dtype=bool))

    return __init__


def setting_flag(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """A `Sampler.add_request` that also sets the slot's flag, from the states that the call wrote."""

    @functools.wraps(upstream)
    def add_request(self: Any, req_idx: int, *args: Any, **named: Any) -> None:
        # Until the states are complete the slot is not valid: upstream refuses some requests halfway.
        flags = getattr(self, FLAGS)
        flags[req_idx] = True
        upstream(self, req_idx, *args, **named)
        flags[req_idx] = rows_need_processing(self, [req_idx])

    return add_request


def replacements() -> Mapping[str, Callable[..., Any]]:
    return {
        INIT.qualname: keeping_flags(original_of(INIT)),
        ADD.qualname: setting_flag(original_of(ADD)),
        APPLY.qualname: skipping(PATCH.name, original_of(APPLY), flagged, TESTED_ATTRIBUTES | {FLAGS}),
    }


def register() -> None:
    PATCH.apply(replacements)
