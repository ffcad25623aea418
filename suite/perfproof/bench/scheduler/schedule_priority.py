"""One call of `Scheduler.schedule` under the policy `priority`: requests have ended, and the first of many that wait take their places."""

from __future__ import annotations

import random
from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.scheduler.running import Running

PARAMETERS = {"requests": 64, "waiting": 256, "ending": 4, "prompt_tokens": 128, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler.schedule", "vllm.v1.core.sched.request_queue:PriorityRequestQueue.pop_request")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step of a full server with --scheduling-policy priority; it is part of the time to first token of those who wait"


class Waiting(Running):
    """As many requests as have ended come in, so that always as many wait."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__(parameters, scheduler={"policy": "priority"})
        self.ending = parameters["ending"]
        self.draw = random.Random(self.seed)
        self._arrive(parameters["waiting"])

    def _arrive(self, count: int) -> None:
        for _ in range(count):
            self.scheduler.add_request(self.new(priority=self.draw.randrange(1, 100)))

    def prepare(self) -> Round:
        self.settle()
        self.abort([one.request_id for one in self.scheduler.running[: self.ending]])
        self._arrive(self.ending)
        return self.schedule


def counted_round(parameters: dict[str, Any]) -> Round:
    return Waiting(parameters).prepare()


def test_schedule_priority(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The step in which the most urgent of them are admitted."""
    waiting = Waiting(parameters)
    measure(benchmark, parameters, waiting.prepare, waiting.work)
