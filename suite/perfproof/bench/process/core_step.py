"""One call of `EngineCore.step` whose scheduler and workers answer at once: what the engine's process does itself around them."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "prompt_tokens": 64, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.engine.core:EngineCore.step", "vllm.v1.engine.core:EngineCore.post_step")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step, between the scheduler and the workers: the device waits for it"
COUNT_AT = {"requests": 16}


class Stepping:
    """Steps that were taken; the round takes the same step again, with the answers that its parts gave."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters)

    def prepare(self) -> Round:
        parts = self.parts
        parts.restore()
        parts.step()
        scheduled, output = parts.scheduled, parts.output
        outputs = parts.scheduler.update_from_output(scheduled, output)
        parts.scheduled = None
        none: Future[None] = Future()
        none.set_result(None)
        parts.replace(parts.scheduler, "schedule", lambda *args, **kwargs: scheduled)
        parts.replace(parts.scheduler, "update_from_output", lambda *args, **kwargs: outputs)
        parts.replace(parts.core.model_executor, "execute_model", lambda *args, **kwargs: none)
        parts.replace(parts.core.model_executor, "sample_tokens", lambda *args, **kwargs: output)
        step: Round = parts.engine.engine_core.get_output
        return step


def counted_round(parameters: dict[str, Any]) -> Round:
    return Stepping(parameters).prepare()


def test_core_step(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The step without its parts."""
    stepping = Stepping(parameters)
    measure(benchmark, parameters, stepping.prepare, lambda: {"scheduled_tokens": stepping.parts.tokens})
