"""Calls that a front end hands to its engine besides requests (sleep, profiles, caches, weights), to where they would be sent."""

from __future__ import annotations

from typing import Any

from perfproof.bench.front_end import front_end, loop
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"calls": 4, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.engine.async_llm:AsyncLLM.reset_prefix_cache", "vllm.v1.engine.async_llm:AsyncLLM.wake_up")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "whenever a trainer or an operator asks for it, in the process that serves HTTP"
COUNT_AT = {"calls": 1}
OF_FRONT = (
    "is_sleeping",
    "wake_up",
    "reset_prefix_cache",
    "start_profile",
    "stop_profile",
    "compute_weight_checksums",
    "shutdown_weight_transfer_engine",
)
OF_CLIENT = ("is_scheduler_paused_async", "is_sleeping_async", "get_weight_version_async")


class Calling:
    """A front end; each round makes every call that this release has, some times over."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.times = parameters["calls"]
        self.front, self.client = front_end()
        calls = [(self.front, name) for name in OF_FRONT] + [(self.client, name) for name in OF_CLIENT]
        self.calls = [getattr(owner, name) for owner, name in calls if hasattr(type(owner), name)]
        self.rejected = getattr(self.front, "notify_kv_transfer_request_rejected", None)
        self.made = 0

    def prepare(self) -> Round:
        return lambda: loop().run_until_complete(self.all())

    async def all(self) -> None:
        for _ in range(self.times):
            for call in self.calls:
                await call()
            if self.rejected is not None:
                await self.rejected("r", {})
            self.made += 1


def counted_round(parameters: dict[str, Any]) -> Round:
    return Calling(parameters).prepare()


def test_utility_calls(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Calls besides requests."""
    calling = Calling(parameters)
    measure(benchmark, parameters, calling.prepare, lambda: {"calls": calling.made})
