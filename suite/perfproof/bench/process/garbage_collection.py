"""Python's garbage collector over 2,000 steps of an engine: how often it goes through all objects, and how long the engine waits for it.

Requests come as others end. The engine is that of an offline run, core and front end in one process, its model a stub. The heap begins as
vLLM leaves it once a server has started: everything that is there is frozen, so that collections look at what came since. A round is
`steps` steps with the collector on; `full_collections` are those of generation 2, `collection_time` is the time of all collections,
`longest_pause` that of the longest. The round whose work is counted is shorter, and runs without collections.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from statistics import median
from typing import Any

from perfproof.bench.rounds import Round, time_rounds
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 8, "prompt_tokens": 64, "steps": 2_000, "rounds": 1, "warmup_rounds": 0, "seed": 7}
EXERCISES = ("vllm.v1.engine.core:EngineCore.step", "vllm.v1.engine.llm_engine:LLMEngine.step")
TIMES = ("round_time", "full_collections", "collection_time", "longest_pause")
WITNESSES = ()
COUNT_AT = {"requests": 4, "steps": 2}
MEANS = "all that an engine does on the host in 2,000 steps; while the collector runs, no step begins and no token is sent"
FULL = 2
"""The generation of a full collection."""


def freeze_heap() -> None:
    """Sets all objects aside, as vLLM does once a server has started; those that a process before this one set aside, too."""
    gc.unfreeze()
    for generation in range(FULL + 1):
        gc.collect(generation)
    gc.freeze()


class Pauses:
    """The collections of a round, as the collector tells of them: generation and seconds of each."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, float]] = []
        self._began, self._was = 0.0, True

    def __call__(self, phase: str, told: Mapping[str, int]) -> None:
        if phase == "start":
            self._began = time.perf_counter()
        else:
            self.seen.append((told["generation"], time.perf_counter() - self._began))

    def __enter__(self) -> Pauses:
        self._was = gc.isenabled()
        gc.callbacks.append(self)
        gc.enable()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._was:
            gc.disable()
        gc.callbacks.remove(self)


class Serving:
    """An engine whose requests are followed by others when they end."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters, sampling=lambda n: {"max_tokens": 100 + 29 * n % 300})
        self.steps = parameters["steps"]
        self.ended = 0

    def serve(self) -> None:
        for _ in range(self.steps):
            for output in self.parts.engine.step():
                if output.finished:
                    self.ended += 1
                    self.parts.add()


def counted_round(parameters: dict[str, Any]) -> Round:
    return Serving(parameters).serve


def test_garbage_collection(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Steps with the collector on."""
    serving, rounds = Serving(parameters), list[Pauses]()
    freeze_heap()

    def run() -> None:
        with Pauses() as pauses:
            serving.serve()
        rounds.append(pauses)

    time_rounds(benchmark, parameters, run, lambda: ((), {}))
    timed = [one.seen for one in rounds[-parameters["rounds"] :]]
    benchmark.extra_info["parameters"] = dict(parameters)
    benchmark.extra_info.setdefault("measurements", {}).update(
        {
            "full_collections": median(sum(generation == FULL for generation, _ in one) for one in timed),
            "collection_time": median(sum(seconds for _, seconds in one) for one in timed),
            "longest_pause": median(max((seconds for _, seconds in one), default=0.0) for one in timed),
        }
    )
    benchmark.extra_info["work"] = {"ended": serving.ended, "steps": serving.steps * len(rounds), "requests": serving.parts.made}
