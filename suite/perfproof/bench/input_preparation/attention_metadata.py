"""One call of the runner's `_build_attention_metadata`: block tables, lengths and slots as the attention backend takes them."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "prompt_tokens": 64, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.worker.gpu_model_runner:GPUModelRunner._build_attention_metadata",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step in each worker, behind `prepare_inputs`, and once more for each further group of layers; here for the CPU's backend"
COUNT_AT = {"requests": 16}


class Building:
    """Decode steps; the round is what builds the metadata of the step that was taken."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters)

    def prepare(self) -> Round:
        return self.parts.replayed(self.parts.runner, "_build_attention_metadata")


def counted_round(parameters: dict[str, Any]) -> Round:
    return Building(parameters).prepare()


def test_attention_metadata(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The metadata of a decode step."""
    building = Building(parameters)
    measure(benchmark, parameters, building.prepare, lambda: {"scheduled_tokens": building.parts.tokens})
