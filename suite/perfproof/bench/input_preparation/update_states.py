"""One call of the runner's `_update_states`: rows of ended requests go, new ones get a row, the others' tokens and blocks are noted."""

from __future__ import annotations

from typing import Any

from perfproof.bench.input_preparation.runner import Stepping
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 128, "prompt_tokens": 64, "turnover": 4, "rounds": 40, "warmup_rounds": 4, "seed": 7}
LEAST = {"turnover": 0}
EXERCISES = ("vllm.v1.worker.gpu_model_runner:GPUModelRunner._update_states",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step in each worker, before anything is launched: without asynchronous scheduling the device waits for all of it"
COUNT_AT = {"requests": 32}


class Updating:
    """Steps of which only the update of the runner's states is the round."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        steps = parameters["rounds"] + parameters["warmup_rounds"]
        self.steps = Stepping(parameters["requests"], parameters["prompt_tokens"], parameters["turnover"], steps, parameters["seed"])
        self.tokens = 0

    def prepare(self) -> Round:
        self.steps.schedule()
        self.tokens += self.steps.scheduled.total_num_scheduled_tokens
        return self.steps.update_states


def counted_round(parameters: dict[str, Any]) -> Round:
    return Updating(parameters).prepare()


def test_update_states(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The next step's requests into the runner's rows."""
    updating = Updating(parameters)
    measure(benchmark, parameters, updating.prepare, lambda: {"scheduled_tokens": updating.tokens})
