"""One call of `Scheduler.schedule` in which new requests are admitted, without prefix caching."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.scheduler.running import Running

PARAMETERS = {"requests": 64, "arriving": 8, "prompt_tokens": 128, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler.schedule",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once for a step in which requests arrive, of a server with --no-enable-prefix-caching; it is part of their time to first token"


class Admitting(Running):
    """What arrived is gone again before the next round."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.arriving = parameters["arriving"]
        super().__init__(
            parameters,
            seats=self.arriving,
            tokens=self.arriving * (parameters["prompt_tokens"] + 64),
            prefix_caching=False,
            log_stats=False,
        )
        self.arrived: list[str] = []

    def prepare(self) -> Round:
        self.settle()
        self.abort(self.arrived)
        new = [self.new() for _ in range(self.arriving)]
        self.arrived = [one.request_id for one in new]
        for one in new:
            self.scheduler.add_request(one)
        return self.schedule


def counted_round(parameters: dict[str, Any]) -> Round:
    return Admitting(parameters).prepare()


def test_schedule_admission(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The step in which they are admitted."""
    admitting = Admitting(parameters)
    measure(benchmark, parameters, admitting.prepare, admitting.work)
