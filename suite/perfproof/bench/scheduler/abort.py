"""One call of `Scheduler.finish_requests` for requests whose clients went away, running and waiting ones."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.scheduler.running import Running

PARAMETERS = {"requests": 128, "aborted": 32, "prompt_tokens": 128, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler.finish_requests",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "between two steps, when clients disconnect or time out: the next step waits for it"


class Aborted(Running):
    """Half of those that are aborted run, half of them wait; others come in for them."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.half = max(1, parameters["aborted"] // 2)
        super().__init__(parameters)

    def prepare(self) -> Round:
        for _ in range(self.half):
            self.scheduler.add_request(self.new())
        self.schedule()
        self.settle()
        for _ in range(self.half):
            self.scheduler.add_request(self.new())
        running = [one.request_id for one in self.scheduler.running]
        waiting = [one.request_id for one in self.scheduler.waiting]
        names = [*running[:: max(1, len(running) // self.half)][: self.half], *waiting[: self.half]]
        return lambda: self.abort(names)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Aborted(parameters).prepare()


def test_abort(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Many clients go away at once."""
    aborted = Aborted(parameters)
    measure(benchmark, parameters, aborted.prepare, aborted.work)
