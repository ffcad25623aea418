"""A slowdown of known size: a busy wait around one function of vLLM, for a given fraction of each call's own duration.

It exists to test the suite (`make validate-real`): only a known slowdown can show whether a verdict finds it.
`PERFPROOF_SLOWDOWN="vllm.some.module:Class.function 0.05"` names the function and the fraction, 0 and more; after each call the wrapper
reads the clock until that fraction of the call has gone by once more, so that a call that took long waits long. The function's result does
not change. Two counters record what really happened, in nanoseconds: `slowdown measured ns` (the calls themselves) and `slowdown added ns`
(the waits).

A fraction of 0 is the sham: the same wrapper and clock, no wait.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable
from typing import Any

from perfproof.patches.guard import Counter, Patch, PatchRefused, Target, asked_for, counter, original_of

VARIABLE = "PERFPROOF_SLOWDOWN"
MEASURED, ADDED = "slowdown measured ns", "slowdown added ns"

THINKING = Target(
    "vllm.v1.sample.thinking_budget_state",
    "ThinkingBudgetStateHolder.update_state",
    {"0.28.0": "96779a5f473f3f13", "0.32.0": "96779a5f473f3f13"},
)
PENALTIES = Target(
    "vllm.v1.sample.sampler",
    "Sampler.apply_penalties",
    {"0.28.0": "6fe02ed4915339fa", "0.32.0": "6fe02ed4915339fa"},
)
ENGINE_STEP = Target(
    "vllm.v1.engine.core",
    "EngineCoreProc._process_engine_step",
    {"0.28.0": "84a2244bd98cdc6e", "0.32.0": "368483ef1e8ab43b"},
)
TARGETS = (THINKING, PENALTIES, ENGINE_STEP)
"""Functions that take nearly all of the time that is measured around them. Others need `PERFPROOF_ALLOW_UNVERIFIED=1`."""

PATCH = Patch(
    name="known_slowdown",
    direction="removes",
    summary="makes one function slower by a known fraction, to see whether that is found",
    origin="the suite's own",
    holds={release: frozenset({"cpu"}) for release in THINKING.sources},
    targets=TARGETS,
)


def chosen_slowdown() -> tuple[Target, float]:
    """The function and the fraction that the environment names; raises `PatchRefused` if it names neither."""
    words = os.environ.get(VARIABLE, "").split()
    try:
        name, fraction = words[0], float(words[1])
        module, qualname = name.split(":")
        if len(words) != 2 or not 0 <= fraction <= 10:
            raise ValueError
    except (IndexError, ValueError):
        wanted = '"module:Qual.name 0.05", the fraction from 0 to 10'
        raise PatchRefused(f"patch {PATCH.name} refused: {VARIABLE} is {' '.join(words)!r}, wanted like {wanted}") from None
    known = {target.name: target for target in TARGETS}
    return known.get(name, Target(module, qualname)), fraction


def slowed(
    upstream: Callable[..., Any],
    fraction: float,
    measured: Counter,
    added: Counter,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> Callable[..., Any]:
    """`upstream`, each call followed by a busy wait of `fraction` of what it took; both are counted in nanoseconds."""

    def slower(*args: Any, **kwargs: Any) -> Any:
        began = clock()
        try:
            return upstream(*args, **kwargs)
        finally:
            ended = now = clock()
            until = ended + int(fraction * (ended - began))
            while now < until:
                now = clock()
            measured.add(ended - began)
            added.add(now - ended)

    return slower


def register() -> None:
    if not asked_for(PATCH.name):
        return
    target, fraction = chosen_slowdown()
    patch = dataclasses.replace(PATCH, targets=(target,))
    patch.apply(lambda: {target.name: slowed(original_of(target), fraction, counter(MEASURED), counter(ADDED))})
