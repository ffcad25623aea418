"""One call of `Scheduler.schedule` while every running request decodes: the step that a server takes most often.

The prompts differ in length, so that at each step one request in sixteen enters another KV block, as in a server.
"""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 128, "prompt_tokens": 128, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler.schedule",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step, before the model runs: without asynchronous scheduling the device waits for all of it"


class Decoding:
    """A scheduler whose requests all decode. Each round is the `schedule` of its next step; what that step gives is dealt with untimed."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        count, prompt, seed = parameters["requests"], parameters["prompt_tokens"], parameters["seed"]
        steps = parameters["rounds"] + parameters["warmup_rounds"]
        blocks = count * ((prompt + steps) // engine.BLOCK_SIZE + 3)
        config = engine.vllm_config(max_num_seqs=count, max_model_len=prompt + steps + 64)
        self.scheduler = engine.scheduler(config, num_blocks=blocks)
        self.scheduled: Any = None
        self.tokens = 0
        engine.decoding(self.scheduler, [engine.request(f"r{n}", engine.token_ids(prompt + n % 16, seed + n)) for n in range(count)])

    def prepare(self) -> Round:
        if self.scheduled is not None:
            self.tokens += self.scheduled.total_num_scheduled_tokens
            self.scheduler.update_from_output(self.scheduled, engine.runner_output(self.scheduled))
        return self.schedule

    def schedule(self) -> None:
        self.scheduled = self.scheduler.schedule()


def counted_round(parameters: dict[str, Any]) -> Round:
    return Decoding(parameters).prepare()


def test_schedule_decode(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The next step of requests that all decode."""
    decoding = Decoding(parameters)
    measure(benchmark, parameters, decoding.prepare, lambda: {"scheduled_tokens": decoding.tokens})
