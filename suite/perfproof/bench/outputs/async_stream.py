"""Requests come to vLLM's `AsyncLLM` and stream to their ends, with an engine's outputs that are there already: a server without HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.front_end import front_end, loop
from perfproof.bench.outputs.streams import core_output
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 16, "tokens": 16, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.engine.async_llm:AsyncLLM.add_request", "vllm.v1.engine.async_llm:AsyncLLM.generate")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a token of every request, in the process that serves HTTP: its loop wakes each stream, and counts what it did"
COUNT_AT = {"requests": 4, "tokens": 4}


class Serving:
    """Each round's requests are new, and end in it."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parameters = parameters
        self.front, self.client = front_end()
        self.made = self.outputs = 0

    def prepare(self) -> Round:
        count = self.parameters["requests"]
        prompts = [engine.token_ids(32, self.parameters["seed"] + self.made + n) for n in range(count)]
        self.client.expect(count)
        return lambda: loop().run_until_complete(self.serve(prompts))

    async def serve(self, prompts: list[list[int]]) -> None:
        streams = [asyncio.ensure_future(self.read(ids)) for ids in prompts]
        while len(self.client.asked) < len(prompts):
            await asyncio.sleep(0)
        self.client.give(self.steps())
        await asyncio.gather(*streams)

    async def read(self, ids: list[int]) -> None:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        self.made += 1
        params = SamplingParams(max_tokens=self.parameters["tokens"], ignore_eos=True, output_kind=RequestOutputKind.DELTA)
        prompt = {"type": "token", "prompt_token_ids": ids}
        async for _ in self.front.generate(prompt, params, f"r{self.made}"):
            self.outputs += 1

    def steps(self) -> list[Any]:
        """What the engine gives: a token of every request in each step."""
        from vllm.v1.engine import EngineCoreOutputs, FinishReason

        made = []
        for place in range(self.parameters["tokens"]):
            last = {"finish_reason": FinishReason.LENGTH} if place == self.parameters["tokens"] - 1 else {}
            outputs = [core_output(one.request_id, [1_000 + place], **last) for one in self.client.asked]
            made.append(EngineCoreOutputs(outputs=outputs, timestamp=1.0))
        return made


def counted_round(parameters: dict[str, Any]) -> Round:
    return Serving(parameters).prepare()


def test_async_stream(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Requests that stream together."""
    serving = Serving(parameters)
    measure(benchmark, parameters, serving.prepare, lambda: {"requests": serving.made})
