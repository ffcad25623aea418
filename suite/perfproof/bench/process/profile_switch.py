"""A profile is asked for and called off again (`LLMEngine.start_profile`, `stop_profile`), before any step was recorded."""

from __future__ import annotations

from typing import Any

from perfproof.bench.adapter import absent, accepted
from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 8, "prompt_tokens": 64, "rounds": 15, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.engine.llm_engine:LLMEngine.start_profile", "vllm.v1.engine.core:EngineCore.profile")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "whenever somebody profiles a server that runs"
LATER = 1_000_000
"""Steps until the profiler would begin."""


class Switching:
    """An engine that could be profiled."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters, "profiled")
        self.start = self.parts.engine.start_profile
        self.later = accepted(self.start, delay_iterations=LATER)
        if not self.later:
            absent("profile that begins later")
        self.switched = 0

    def prepare(self) -> Round:
        return self.switch

    def switch(self) -> None:
        self.start(**self.later)
        self.parts.engine.stop_profile()
        self.switched += 1


def counted_round(parameters: dict[str, Any]) -> Round:
    return Switching(parameters).prepare()


def test_profile_switch(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A profile that does not begin."""
    switching = Switching(parameters)
    measure(benchmark, parameters, switching.prepare, lambda: {"switched": switching.switched})
