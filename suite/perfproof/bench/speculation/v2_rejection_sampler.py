"""A step of Model Runner V2's rejection sampler: drafted tokens are judged by the model's logits, and the next ids sampled (CUDA)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from perfproof.bench import runner_v2
from perfproof.bench.adapter import find
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 64, "drafts": 3, "vocab_size": 151_936, "steps": 10, "rounds": 40, "warmup_rounds": 5, "seed": 7}
EXERCISES = (
    "vllm.v1.worker.gpu.spec_decode.rejection_sampler:RejectionSampler.__call__",
    "vllm.v1.worker.gpu.sample.sampler:Sampler.apply_sampling_params",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "a round is ten steps and one wait for the device; a step is once a step of an engine that speculates, in the place of the sampler"
COUNT_AT = {"requests": 16, "vocab_size": 2_048}


class Judging:
    """Greedy requests with the same number of drafted tokens each, half of which the model would have said itself."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        import torch
        from vllm import SamplingParams

        device, count, drafts = runner_v2.device(), parameters["requests"], parameters["drafts"]
        states = runner_v2.request_states(
            max_num_reqs=count, vocab_size=parameters["vocab_size"], device=device, num_speculative_steps=drafts
        )
        sampler = runner_v2.build_sampler(find(runner_v2.SAMPLER), states, num_speculative_tokens=drafts + 1)
        config = SimpleNamespace(
            num_speculative_tokens=drafts,
            rejection_sample_method="standard",
            synthetic_acceptance_rates=None,
            enable_adaptive_verification=False,
        )
        self.judge = find("vllm.v1.worker.gpu.spec_decode.rejection_sampler:RejectionSampler")(sampler, config, device)
        params = SamplingParams(temperature=0.0, max_tokens=1_024)
        slots = [runner_v2.add_request(sampler, states, f"r{n}", params) for n in range(count)]
        states.apply_staged_writes()
        sampler.apply_staged_writes()
        generator = torch.Generator(device=device).manual_seed(parameters["seed"])
        shape = (count * (drafts + 1), parameters["vocab_size"])
        self.logits = torch.randn(shape, device=device, generator=generator).mul_(4).to(torch.bfloat16)
        self.batch = runner_v2.speculative_batch(slots, drafts, self.logits, states)
        self.calls, self.judged = parameters["steps"], 0

    def prepare(self) -> Round:
        runner_v2.synchronize()
        return self.steps

    def steps(self) -> None:
        for _ in range(self.calls):
            self.judge(self.logits, self.batch)
            self.judged += len(self.logits)
        runner_v2.synchronize()


def counted_round(parameters: dict[str, Any]) -> Round:
    return Judging({**parameters, "steps": 1}).prepare()


def test_v2_rejection_sampler(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Steps over the same drafts."""
    judging = Judging(parameters)
    measure(benchmark, parameters, judging.prepare, lambda: {"logit_rows": judging.judged})
