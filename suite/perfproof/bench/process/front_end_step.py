"""One call of `LLMEngine.step` whose engine core answers at once: outputs are processed, and statistics recorded."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "prompt_tokens": 64, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.engine.llm_engine:LLMEngine.step", "vllm.v1.engine.output_processor:OutputProcessor.update_scheduler_stats")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step of an offline run, in the caller's process; a server does the same in its front end's"
COUNT_AT = {"requests": 16}


class Stepping:
    """The core takes a step, untimed; the round is the front end's share of it."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters)
        self.outputs = 0

    def prepare(self) -> Round:
        parts = self.parts
        parts.restore()
        outputs = parts.engine.engine_core.get_output()
        self.outputs += len(outputs.outputs)
        parts.replace(parts.engine.engine_core, "get_output", lambda: outputs)
        parts.replace(parts.engine, "do_log_stats", lambda: None)  # once in ten seconds
        step: Round = parts.engine.step
        return step


def counted_round(parameters: dict[str, Any]) -> Round:
    return Stepping(parameters).prepare()


def test_front_end_step(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's outputs on their way to the caller."""
    stepping = Stepping(parameters)
    measure(benchmark, parameters, stepping.prepare, lambda: {"outputs": stepping.outputs})
