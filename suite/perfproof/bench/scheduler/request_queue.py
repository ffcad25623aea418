"""The queue of waiting requests: requests are added, looked at and taken, one by one, in the order of the policy."""

from __future__ import annotations

import random
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 1_000, "policy": "fcfs", "rounds": 20, "warmup_rounds": 2, "seed": 7}
CHOICES = {"policy": ("fcfs", "priority")}
EXERCISES = ("vllm.v1.core.sched.request_queue:create_request_queue",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 200}
MEANS = "once a request on its way in and on its way into the batch; preempted requests come back"


class Queue:
    """Requests of different priorities that came at different times."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        draw = random.Random(parameters["seed"])
        self.policy = parameters["policy"]
        self.requests = [
            engine.request(f"r{n}", [3, 4, 5], priority=draw.randrange(100), arrival_time=float(n), hashed=False)
            for n in range(parameters["requests"])
        ]
        self.taken = 0

    def prepare(self) -> Round:
        from vllm.v1.core.sched.request_queue import SchedulingPolicy, create_request_queue

        policy = SchedulingPolicy(self.policy)

        def through() -> None:
            queue = create_request_queue(policy)
            for one in self.requests:
                queue.add_request(one)
            while queue:
                queue.peek_request()
                queue.pop_request()
                self.taken += 1

        return through


def counted_round(parameters: dict[str, Any]) -> Round:
    return Queue(parameters).prepare()


def test_request_queue(benchmark: Any, parameters: dict[str, Any]) -> None:
    """All requests, in and out."""
    queue = Queue(parameters)
    measure(benchmark, parameters, queue.prepare, lambda: {"requests": queue.taken})
