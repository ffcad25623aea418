"""One call of `Scheduler.update_from_output` in which requests reach the end of their output, and their blocks are freed."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure
from perfproof.bench.scheduler.running import Running

PARAMETERS = {"requests": 96, "ending": 32, "prompt_tokens": 128, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler.update_from_output", "vllm.v1.core.sched.scheduler:Scheduler._free_request")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a request, at its last token; with short outputs some end at every step"


class Ending(Running):
    """Beside those that go on, `ending` requests are one token from their end."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.ending, self.ended = parameters["ending"], 0
        super().__init__(parameters, seats=self.ending, tokens=self.ending * (parameters["prompt_tokens"] + 64), log_stats=False)

    def prepare(self) -> Round:
        for _ in range(self.ending):
            self.scheduler.add_request(self.new(max_tokens=2))
        engine.step(self.scheduler)
        self.schedule()
        scheduled, output = self.scheduled, engine.runner_output(self.scheduled)

        def update() -> None:
            made = self.scheduler.update_from_output(scheduled, output)
            self.ended += sum(one.finish_reason is not None for client in made.values() for one in client.outputs)

        return update


def counted_round(parameters: dict[str, Any]) -> Round:
    return Ending(parameters).prepare()


def test_finish(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The end of a step in which some requests end."""
    ending = Ending(parameters)
    measure(benchmark, parameters, ending.prepare, lambda: {"ended": ending.ended})
