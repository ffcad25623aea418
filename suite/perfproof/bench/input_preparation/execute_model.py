"""One call of the worker's `execute_model` whose model, states, inputs and attention metadata are there: what it does around them."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "prompt_tokens": 64, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = (
    "vllm.v1.worker.gpu_worker:Worker.execute_model",
    "vllm.v1.worker.gpu_model_runner:GPUModelRunner.execute_model",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step in each worker, before the device has work, besides `update_states`, `prepare_inputs` and `attention_metadata`"
PARTS = ("_update_states", "_prepare_inputs", "_build_attention_metadata")
"""What has benchmarks of its own."""
COUNT_AT = {"requests": 16}


class Executing:
    """Decode steps; the round takes the worker's way to the logits once more, with the answers that its parts gave."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters)

    def prepare(self) -> Round:
        parts = self.parts
        parts.restore()
        parts.runner.execute_model_state = None
        parts.answered(parts.runner, PARTS, parts.step)
        scheduled = parts.scheduled
        parts.settle()
        parts.runner.execute_model_state = None
        return lambda: parts.worker.execute_model(scheduled)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Executing(parameters).prepare()


def test_execute_model(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The next step, up to its logits."""
    executing = Executing(parameters)
    measure(benchmark, parameters, executing.prepare, lambda: {"scheduled_tokens": executing.parts.tokens})
