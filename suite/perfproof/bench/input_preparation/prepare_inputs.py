"""One call of the runner's `_prepare_inputs`: a step's token ids, positions, slots of the KV cache and lengths, laid out for the model."""

from __future__ import annotations

from typing import Any

from perfproof.bench.adapter import absent, accepted
from perfproof.bench.input_preparation.runner import Stepping
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 128, "prompt_tokens": 64, "turnover": 0, "rounds": 40, "warmup_rounds": 4, "seed": 7}
LEAST = {"turnover": 0}
EXERCISES = ("vllm.v1.worker.gpu_model_runner:GPUModelRunner._prepare_inputs",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step in each worker, after `update_states`; the copies to the device that it starts are no copies on a CPU"
COUNT_AT = {"requests": 32}


class Preparing:
    """Steps of which only the laying out of inputs is the round."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        import torch

        steps = parameters["rounds"] + parameters["warmup_rounds"]
        self.steps = Stepping(parameters["requests"], parameters["prompt_tokens"], parameters["turnover"], steps, parameters["seed"])
        self.tokens = 0
        if not hasattr(torch.ops._C, "compute_slot_mapping_kernel_impl"):
            absent("operator for the CPU that maps tokens to slots")

    def prepare(self) -> Round:
        self.steps.schedule()
        self.steps.update_states()
        self.tokens += self.steps.scheduled.total_num_scheduled_tokens
        prepare_inputs = self.steps.runner._prepare_inputs
        given = accepted(
            prepare_inputs,
            scheduler_output=self.steps.scheduled,
            num_scheduled_tokens=self.steps.tokens(),
            max_num_scheduled_tokens=int(self.steps.tokens().max()),
        )
        return lambda: prepare_inputs(**given)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Preparing(parameters).prepare()


def test_prepare_inputs(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The next step's inputs."""
    preparing = Preparing(parameters)
    measure(benchmark, parameters, preparing.prepare, lambda: {"scheduled_tokens": preparing.tokens})
