"""Times the rounds of a benchmark whose state is built outside the timed part: what most benchmarks of the rooms below share.

Such a benchmark has a state with a method `prepare`: each call makes ready for one round, untimed, and gives the round itself, a call of
vLLM without arguments. `counted_round(parameters)` is the first round of a state of its own; the test hands `prepare` to `measure`.

Before each round a fixed loop of Python is timed. A machine whose neighbours slow it down slows both, so the median of the rounds over the
loops beside them, `normalized_round_time`, scatters less than that of the rounds. Rounds on a GPU have none: the loop knows only the host.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from statistics import median
from typing import Any

Round = Callable[[], object]
Prepare = Callable[[], Round]
TURNS = 128
"""Turns of the fixed loop, a tenth of a millisecond: long enough for the clock, short beside what prepares a round."""


def measure(
    benchmark: Any,
    parameters: Mapping[str, Any],
    prepare: Prepare,
    work: Callable[[], Mapping[str, int]],
    *,
    witnesses: Mapping[str, float] | None = None,
) -> None:
    """Times `parameters["rounds"]` rounds, each prepared before it begins.

    `work()`, asked afterwards, says what was done: arms that did other work are not compared. `witnesses` are exact counts that the
    benchmark took of rounds of their own.
    """
    time_rounds(benchmark, parameters, _call, lambda: ((prepare(),), {}))
    benchmark.extra_info["parameters"] = dict(parameters)
    benchmark.extra_info["work"] = dict(work())
    if witnesses:
        benchmark.extra_info["witnesses"] = dict(witnesses)


def time_rounds(benchmark: Any, parameters: Mapping[str, Any], function: Callable[..., object], setup: Callable[[], Any]) -> None:
    """Times `function` as often as `parameters` says, after its warm-up rounds. `setup`, untimed before each, gives its arguments as
    pytest-benchmark takes them, or None."""
    loops: list[float] = []

    def ready() -> Any:
        loops.append(loop_time())
        return setup()

    rounds, warmup = parameters["rounds"], parameters["warmup_rounds"]
    benchmark.pedantic(function, setup=ready, rounds=rounds, warmup_rounds=warmup, iterations=1)
    loops.append(loop_time())
    if benchmark.stats is not None and not _on_gpu():
        beside = [(before + after) / 2 for before, after in pairwise(loops[-rounds - 1 :])]
        normalized = median(one / loop for one, loop in zip(benchmark.stats.stats.data, beside, strict=True))
        benchmark.extra_info.setdefault("measurements", {})["normalized_round_time"] = normalized


def loop_time() -> float:
    """Seconds of the fixed loop. It does what the host's part of a step does most, so that a neighbour slows both alike: it makes
    objects, tuples and lists, calls methods, and puts and deletes keys. It leaves nothing, and no garbage collection falls into it."""
    collects = gc.isenabled()
    gc.disable()
    began = time.perf_counter()
    made = [_Pair(turn, (turn,)) for turn in range(2 * TURNS)]
    total = sum(one.first() for one in made)
    kept = {(turn, b"key"): [turn] for turn in range(TURNS)}
    flat: list[int] = []
    for some in kept.values():
        flat.extend(some)
    for key in list(kept):
        del kept[key]
    words = {str(number + total): number for number in flat}
    took = time.perf_counter() - began
    del made, kept, flat, words
    if collects:
        gc.enable()
    return took


class _Pair:
    """An object of the fixed loop."""

    __slots__ = ("left", "right")

    def __init__(self, left: int, right: tuple[int]) -> None:
        self.left, self.right = left, right

    def first(self) -> int:
        return self.left


def _on_gpu() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_initialized()


def _call(prepared: Round) -> None:
    prepared()
