"""One call of `Scheduler.update_from_output`: a step's tokens go to their requests, are checked for an end, and leave for the front end."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure
from perfproof.bench.scheduler.running import Running

PARAMETERS = {"requests": 128, "prompt_tokens": 128, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler.update_from_output",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step, after the model has run: without asynchronous scheduling the device waits for all of it"


class Updating(Running):
    """Each round is the end of a step."""

    tokens = 0

    def prepare(self) -> Round:
        self.schedule()
        scheduled, output = self.scheduled, engine.runner_output(self.scheduled)

        def update() -> None:
            made = self.scheduler.update_from_output(scheduled, output)
            self.tokens += sum(len(one.new_token_ids) for client in made.values() for one in client.outputs)

        return update


def counted_round(parameters: dict[str, Any]) -> Round:
    return Updating(parameters).prepare()


def test_update_from_output(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The end of a step of requests that all decode."""
    updating = Updating(parameters)
    measure(benchmark, parameters, updating.prepare, lambda: {"tokens": updating.tokens})
