"""A step of Model Runner V2's sampler: parameters written to the device, then ids sampled; by what the requests ask for (CUDA)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfproof.bench import runner_v2
from perfproof.bench.adapter import accepted, find
from perfproof.bench.rounds import Round, measure

PARAMETERS = {
    "requests": 128,
    "vocab_size": 151_936,
    "asks": "nothing",
    "output_length": 64,
    "steps": 10,
    "rounds": 40,
    "warmup_rounds": 5,
    "seed": 7,
}
CHOICES = {"asks": ("nothing", "penalties", "top_k_top_p", "logit_bias", "min_tokens", "bad_words", "one_penalty")}
EXERCISES = (
    "vllm.v1.worker.gpu.sample.sampler:Sampler.apply_staged_writes",
    "vllm.v1.worker.gpu.sample.sampler:Sampler.sample",
    "vllm.v1.worker.gpu.sample.sampler:Sampler.apply_sampling_params",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "a round is ten steps and one wait for the device; a step is once a step of the engine, behind the model"
COUNT_AT = {"requests": 16, "vocab_size": 2_048}
ASKS: Mapping[str, Mapping[str, Any]] = {
    "nothing": {},
    "penalties": {"presence_penalty": 0.5, "frequency_penalty": 0.1, "repetition_penalty": 1.1},
    "top_k_top_p": {"temperature": 0.6, "top_k": 20, "top_p": 0.95},
    "logit_bias": {"logit_bias": {5: 2.0, 9: -1.0}},
    "min_tokens": {"min_tokens": 500, "stop_token_ids": [3, 4]},
    "bad_words": {},
    "one_penalty": {},
}


class Stepping:
    """Requests with `output_length` tokens of output, all asking for the same; with `one_penalty` the first of them alone asks."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        import torch

        device, count, vocab = runner_v2.device(), parameters["requests"], parameters["vocab_size"]
        length = len(runner_v2.PROMPT) + parameters["output_length"]
        states = runner_v2.request_states(max_num_reqs=count, vocab_size=vocab, device=device, max_model_len=length + 32)
        self.sampler = runner_v2.build_sampler(find(runner_v2.SAMPLER), states)
        self.calls, self.sampled = parameters["steps"], 0
        output = [17 + 7 * n % (vocab - 32) for n in range(parameters["output_length"])]
        slots = [
            runner_v2.add_request(
                self.sampler,
                states,
                f"r{n}",
                self.asking(parameters["asks"], n, parameters["seed"] + n),
                (*runner_v2.PROMPT, *output),
                len(runner_v2.PROMPT),
            )
            for n in range(count)
        ]
        states.apply_staged_writes()
        self.sampler.apply_staged_writes()
        given = runner_v2.step_arguments(
            slots, vocab_size=vocab, dtype=torch.bfloat16, device=device, seed=parameters["seed"], position=length
        )
        self.given = accepted(self.sampler.sample, **given)

    @staticmethod
    def asking(what: str, n: int, seed: int) -> Any:
        """The n-th request's parameters."""
        from vllm import SamplingParams

        asked = ASKS["penalties"] if what == "one_penalty" and n == 0 else ASKS[what]
        params = SamplingParams(**{"temperature": 0.0, "max_tokens": 1_024, "seed": seed, **asked})
        if what == "bad_words":
            params._bad_words_token_ids = [[5], [11, 12]]
        return params

    def prepare(self) -> Round:
        runner_v2.synchronize()
        return self.steps

    def steps(self) -> None:
        for _ in range(self.calls):
            self.sampler.apply_staged_writes()
            ids, _ = self.sampler.sample(**self.given)
            self.sampled += len(ids)
        runner_v2.synchronize()


def counted_round(parameters: dict[str, Any]) -> Round:
    return Stepping({**parameters, "steps": 1}).prepare()


def test_v2_sampler(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Steps over a batch in the middle of its output."""
    stepping = Stepping(parameters)
    measure(benchmark, parameters, stepping.prepare, lambda: {"sampled": stepping.sampled})
