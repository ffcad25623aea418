"""One call of `Scheduler.schedule` while requests decode and a long prompt takes the rest of the step's token budget, chunk by chunk."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure
from perfproof.bench.scheduler.running import Running

PARAMETERS = {
    "requests": 128,
    "prompt_tokens": 128,
    "budget": 2_048,
    "long_prompt_tokens": 100_000,
    "rounds": 40,
    "warmup_rounds": 4,
    "seed": 7,
}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler.schedule",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step for as long as a long prompt is computed; it comes on top of the time between two tokens of every other user"


class Mixed(Running):
    """As soon as the long prompt is computed, another one arrives."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__(parameters, seats=1, tokens=2 * parameters["long_prompt_tokens"], max_num_batched_tokens=parameters["budget"])
        self.long_prompt = parameters["long_prompt_tokens"]
        self.long: Any = None

    def prepare(self) -> Round:
        self.settle()
        if self.long is None or self.long.num_computed_tokens >= self.long_prompt:
            if self.long is not None:
                self.abort([self.long.request_id])
            self.long = self.new(engine.token_ids(self.long_prompt, self.seed + self.made))
            self.scheduler.add_request(self.long)
        return self.schedule


def counted_round(parameters: dict[str, Any]) -> Round:
    return Mixed(parameters).prepare()


def test_schedule_chunked_prefill(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The next step: a token for each running request, and a chunk of the prompt."""
    mixed = Mixed(parameters)
    measure(benchmark, parameters, mixed.prepare, mixed.work)
