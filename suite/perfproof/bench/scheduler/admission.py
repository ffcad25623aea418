"""A thousand requests come in at once (`Scheduler.add_request`), and one step admits as many as its batch has room for."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"waiting": 1_000, "admitted": 128, "prompt_tokens": 64, "rounds": 10, "warmup_rounds": 1, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler.add_request", "vllm.v1.core.sched.scheduler:Scheduler.schedule")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = (
    "the first step of a burst, such as an offline batch or a benchmark at an infinite rate; it is part of everybody's time to first token"
)


class Burst:
    """For each round an empty scheduler and requests that nobody has seen."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.waiting, self.prompt, self.seed = parameters["waiting"], parameters["prompt_tokens"], parameters["seed"]
        batch = parameters["admitted"]
        self.config = engine.vllm_config(
            max_num_seqs=batch, max_model_len=2 * self.prompt + 64, max_num_batched_tokens=max(batch, batch * self.prompt)
        )
        self.blocks = batch * (self.prompt // engine.BLOCK_SIZE + 2) + 64
        self.requests = [(f"r{n}", engine.token_ids(self.prompt, self.seed + n)) for n in range(self.waiting)]
        self.done = {"scheduled_tokens": 0, "waiting": 0}

    def prepare(self) -> Round:
        scheduler = engine.scheduler(self.config, num_blocks=self.blocks)
        requests = [engine.request(name, prompt) for name, prompt in self.requests]

        def admit() -> None:
            for one in requests:
                scheduler.add_request(one)
            self.done["scheduled_tokens"] += scheduler.schedule().total_num_scheduled_tokens
            self.done["waiting"] += len(scheduler.waiting)

        return admit


def counted_round(parameters: dict[str, Any]) -> Round:
    return Burst(parameters).prepare()


def test_admission(benchmark: Any, parameters: dict[str, Any]) -> None:
    """All of them come, and the first step is scheduled."""
    burst = Burst(parameters)
    measure(benchmark, parameters, burst.prepare, lambda: burst.done)
