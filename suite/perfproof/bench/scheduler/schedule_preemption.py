"""One call of `Scheduler.schedule` when the KV cache is full and every request needs another block: the last ones are preempted."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 64, "prompt_tokens": 128, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler.schedule", "vllm.v1.core.sched.scheduler:Scheduler._preempt_request")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "a step under a full KV cache; what is preempted is computed again later, which costs far more than the call"


class Full:
    """For each round a scheduler whose requests hold all blocks, their last one full."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        block = engine.BLOCK_SIZE
        self.count, self.seed = parameters["requests"], parameters["seed"]
        self.prompt = max(1, parameters["prompt_tokens"] // block) * block
        self.config = engine.vllm_config(
            max_num_seqs=self.count, max_model_len=2 * self.prompt + 64, max_num_batched_tokens=self.count * self.prompt
        )
        self.blocks = self.count * self.prompt // block + 1
        self.scheduled: Any = None
        self.done = {"scheduled_tokens": 0, "preempted": 0}

    def prepare(self) -> Round:
        if self.scheduled is not None:
            self.done["scheduled_tokens"] += self.scheduled.total_num_scheduled_tokens
            self.done["preempted"] += self.count - len(self.scheduler.running)
        self.scheduler = engine.scheduler(self.config, num_blocks=self.blocks)
        for n in range(self.count):
            self.scheduler.add_request(engine.request(f"r{n}", engine.token_ids(self.prompt, self.seed + n)))
        engine.step(self.scheduler)
        return self.schedule

    def schedule(self) -> None:
        self.scheduled = self.scheduler.schedule()


def counted_round(parameters: dict[str, Any]) -> Round:
    return Full(parameters).prepare()


def test_schedule_preemption(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The step in which the blocks are all gone."""
    full = Full(parameters)
    measure(benchmark, parameters, full.prepare, lambda: full.done)
