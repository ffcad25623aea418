"""`InputProcessor.process_inputs` for a prompt of token ids: parameters are checked and copied, the request for the engine is made."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 32, "prompt_tokens": 1_024, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.engine.input_processor:InputProcessor.process_inputs",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 8}
MEANS = "once a request, in the front end's process, behind the tokenizer: with many short requests it bounds how many a second come in"


class Arriving:
    """The same prompts and parameters again and again."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        from vllm import SamplingParams

        self.processor = engine.input_processor(max_model_len=parameters["prompt_tokens"] + 64)
        ids = [engine.token_ids(parameters["prompt_tokens"], parameters["seed"] + n) for n in range(parameters["requests"])]
        self.prompts = [{"type": "token", "prompt_token_ids": one} for one in ids]
        self.params = SamplingParams(temperature=0.7, top_p=0.9, max_tokens=16, stop_token_ids=[5])
        self.tokens = 0

    def prepare(self) -> Round:
        return self.arrive

    def arrive(self) -> None:
        process, params = self.processor.process_inputs, self.params
        for n, prompt in enumerate(self.prompts):
            made = process(f"r{n}", prompt, params, supported_tasks=("generate",), arrival_time=0.0)
            self.tokens += len(made.prompt_token_ids)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Arriving(parameters).prepare()


def test_process_inputs(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Requests come in."""
    arriving = Arriving(parameters)
    measure(benchmark, parameters, arriving.prepare, lambda: {"tokens": arriving.tokens})
