"""Model Runner V2's sampler brings its states to the device only after a request was added.

`Sampler.apply_staged_writes` is called at every step. It copies each array of sampling parameters (temperature, top-k, top-p, min-p,
seeds, penalties, counts of bad words, of logit biases and of stop tokens: 14 in 0.22.0) from the host into a buffer that the device sees,
whole, although only `Sampler.add_request` writes to them. In the steps between, what the device sees is what was copied last.

Skipping is exact: a copy goes to the next of several buffers, the device goes on reading the one that was written last, and no buffer is
overwritten sooner than before, for there are fewer copies. `fast` counts the calls that copied nothing, `fallback` all others.

What it does not know copies at every step, as upstream does: a sampler with a logits processor of its own (from 0.31.0 on), whose
`apply_staged_writes` may count on being called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from perfproof.patches.guard import Patch, Target, counter, original_of

CURRENT = "perfproof_writes_current"
"""The attribute of a `Sampler` that says whether the device sees its states; without it, it does not."""
MODULE = "vllm.v1.worker.gpu.sample.sampler"
NATIVE = "vllm.v1.worker.gpu.sample."
"""The modules of the processors that write in `add_request` alone."""

ADD = Target(
    MODULE,
    "Sampler.add_request",
    {"0.22.0": "11d8ff97315fe785", "0.25.1": "11d8ff97315fe785", "0.32.0": "ebc443f980718f51"},
)
WRITE = Target(
    MODULE,
    "Sampler.apply_staged_writes",
    {"0.22.0": "3a1320d95df4ef39", "0.25.1": "3a1320d95df4ef39", "0.32.0": "ef1ea60641af730f"},
)

PATCH = Patch(
    name="sampler_writes_when_added",
    direction="adds",
    summary="copies the sampler's states to the device after a request was added, not at every step",
    origin="perfproof",
    holds={release: frozenset({"cuda"}) for release in WRITE.sources},
    targets=(ADD, WRITE),
)


def native(sampler: Any) -> bool:
    """Whether all of the sampler's logits processors are vLLM's own; releases before 0.31.0 have no others."""
    return all(type(each).__module__.startswith(NATIVE) for each in getattr(sampler, "logits_processors", ()))


def noting(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """A `Sampler.add_request` after which the states have to be written, also where upstream refuses the request halfway."""

    @functools.wraps(upstream)
    def add_request(self: Any, *args: Any, **named: Any) -> Any:
        setattr(self, CURRENT, False)
        return upstream(self, *args, **named)

    return add_request


def writing(name: str, upstream: Callable[..., Any]) -> Callable[..., Any]:
    """A `Sampler.apply_staged_writes` that does nothing where nothing was added since it last ran to its end."""
    fast, fallback = counter(f"fast {name}"), counter(f"fallback {name}")

    @functools.wraps(upstream)
    def apply_staged_writes(self: Any) -> None:
        if getattr(self, CURRENT, False):
            fast.add()
            return
        fallback.add()
        upstream(self)
        setattr(self, CURRENT, native(self))

    return apply_staged_writes


def replacements() -> Mapping[str, Callable[..., Any]]:
    return {ADD.qualname: noting(original_of(ADD)), WRITE.qualname: writing(PATCH.name, original_of(WRITE))}


def register() -> None:
    PATCH.apply(replacements)
