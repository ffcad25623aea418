"""One call of `Scheduler.schedule` while every running request decodes: the step that a server takes most often."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.scheduler.running import Running

PARAMETERS = {"requests": 128, "prompt_tokens": 128, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler.schedule",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step, before the model runs: without asynchronous scheduling the device waits for all of it"


def counted_round(parameters: dict[str, Any]) -> Round:
    return Running(parameters).prepare()


def test_schedule_decode(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The next step of requests that all decode."""
    running = Running(parameters)
    measure(benchmark, parameters, running.prepare, running.work)
