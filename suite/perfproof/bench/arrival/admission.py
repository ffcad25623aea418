"""Requests that a full server turns away before they are queued (`AsyncLLM.check_admission`, `--max-num-queued-reqs`)."""

from __future__ import annotations

from typing import Any

from perfproof.bench.adapter import absent, find
from perfproof.bench.front_end import front_end
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 64, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.engine.async_llm:AsyncLLM.check_admission",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a request that comes while too many wait, in the process that serves HTTP"
COUNT_AT = {"requests": 4}


class Refusing:
    """A server that lets nobody in."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        find("vllm.v1.engine.async_llm:AsyncLLM.check_admission")
        self.front, _ = front_end()
        if not hasattr(self.front.scheduler_config, "max_num_queued_reqs"):
            absent("limit of requests that wait")
        self.front.scheduler_config.max_num_queued_reqs = 0
        self.count, self.refused = parameters["requests"], 0

    def prepare(self) -> Round:
        return self.refuse

    def refuse(self) -> None:
        for n in range(self.count):
            try:
                self.front.check_admission(1, f"r{n}")
            except Exception:  # vLLM's own for a full queue
                self.refused += 1


def counted_round(parameters: dict[str, Any]) -> Round:
    return Refusing(parameters).prepare()


def test_admission(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Requests that are turned away."""
    refusing = Refusing(parameters)
    measure(benchmark, parameters, refusing.prepare, lambda: {"refused": refusing.refused})
