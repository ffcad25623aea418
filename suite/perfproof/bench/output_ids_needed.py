"""Does a batch get its output ids although it does not need them? (A witness; its time means nothing.)

`InputBatch.refresh_metadata` passes the output lists on only if a request's parameters need them: if it
does, asynchronous scheduling has to wait for the sampled ids at every step to fill them in. vLLM 0.21.0
had the condition inverted (#41672) and passed them to every batch; before and after it does not.
"""

from __future__ import annotations

from typing import Any

from perfproof.bench.adapter import cached_request, input_batch
from perfproof.bench.rounds import time_rounds

PARAMETERS = {
    "requests": 8,
    "prompt_tokens": 16,
    "output_tokens": 16,
    "rounds": 5,
    "warmup_rounds": 1,
    "seed": 7,
}
EXERCISES = ("vllm.v1.worker.gpu_input_batch:InputBatch.refresh_metadata",)
TIMES = ("round_time",)
WITNESSES = ("output_ids_needed",)


def build(parameters: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A batch of plain greedy requests, and these."""
    import random

    from vllm import SamplingParams

    draw = random.Random(parameters["seed"])
    requests, prompt, output = parameters["requests"], parameters["prompt_tokens"], parameters["output_tokens"]
    batch = input_batch(max_num_reqs=requests, max_model_len=max(256, prompt + output), vocab_size=1_000)
    states = [
        cached_request(
            f"r{i}",
            [draw.randrange(1_000) for _ in range(prompt)],
            [draw.randrange(1_000) for _ in range(output)],
            sampling_params=SamplingParams(temperature=0.0),
        )
        for i in range(requests)
    ]
    for state in states:
        batch.add_request(state)
    return batch, states


def change(batch: Any, states: list[Any]) -> None:
    """The batch is another one, as between steps."""
    batch.remove_request(states[-1].req_id)
    batch.add_request(states[-1])


def counted_round(parameters: dict[str, Any]) -> Any:
    """The metadata of a batch that has changed, made again, so that its work can be counted."""
    batch, states = build(parameters)
    batch.refresh_metadata()
    change(batch, states)
    return batch.refresh_metadata


def test_output_ids_needed(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A batch of plain greedy requests: 1 if its metadata carries output ids, else 0."""
    batch, states = build(parameters)
    batch.refresh_metadata()
    handed_out = batch.sampling_metadata.output_token_ids
    time_rounds(benchmark, parameters, batch.refresh_metadata, lambda: change(batch, states))
    benchmark.extra_info["parameters"] = parameters
    benchmark.extra_info["witnesses"] = {"output_ids_needed": int(any(len(ids) > 0 for ids in handed_out))}
    benchmark.extra_info["work"] = {"requests": len(states), "output_ids": len(states) * parameters["output_tokens"]}
