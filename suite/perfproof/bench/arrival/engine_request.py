"""`Request.from_engine_core_request`: what came from the front end becomes the scheduler's request, its blocks hashed, and is queued."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 32, "prompt_tokens": 1_024, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.request:Request.from_engine_core_request", "vllm.v1.core.sched.scheduler:Scheduler.add_request")
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 8}
MEANS = "once a request, in the engine's process: no step begins meanwhile"


class Arriving:
    """What the front end made of some prompts, and an idle scheduler for each round."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        from vllm import SamplingParams

        count, length = parameters["requests"], parameters["prompt_tokens"]
        processor = engine.input_processor(max_model_len=length + 64)
        prompts = ({"type": "token", "prompt_token_ids": engine.token_ids(length, parameters["seed"] + n)} for n in range(count))
        params = SamplingParams(temperature=0.0, max_tokens=16)
        self.requests = [
            processor.process_inputs(f"r{n}", prompt, params, supported_tasks=("generate",), arrival_time=0.0)
            for n, prompt in enumerate(prompts)
        ]
        self.config = engine.vllm_config(max_num_seqs=count, max_model_len=length + 64)
        self.queued = 0

    def prepare(self) -> Round:
        from vllm.v1.request import Request

        scheduler, hasher, make = engine.scheduler(self.config, num_blocks=64), engine.block_hasher(), Request.from_engine_core_request

        def arrive() -> None:
            for one in self.requests:
                scheduler.add_request(make(one, hasher))
            self.queued += len(scheduler.waiting)

        return arrive


def counted_round(parameters: dict[str, Any]) -> Round:
    return Arriving(parameters).prepare()


def test_engine_request(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Requests reach the engine."""
    arriving = Arriving(parameters)
    measure(benchmark, parameters, arriving.prepare, lambda: {"requests": arriving.queued})
