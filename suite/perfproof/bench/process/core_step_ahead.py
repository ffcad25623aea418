"""One call of `EngineCore.step_with_batch_queue` whose scheduler and workers answer at once: a step is begun, and the one before ends."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from typing import Any

from perfproof.bench.adapter import absent
from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "prompt_tokens": 64, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.engine.core:EngineCore.step_with_batch_queue",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step of a server that schedules ahead, which a GPU's does by default, or that spreads layers over devices"
COUNT_AT = {"requests": 16}
AHEAD = 2
"""Steps that are under way at a time."""


class Stepping:
    """Steps that were taken; the round begins the last again while the one before it ends, with the answers that their parts gave."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters)
        if not hasattr(self.parts.core, "step_with_batch_queue"):
            absent("queue of steps")

    def prepare(self) -> Round:
        parts, core = self.parts, self.parts.core
        parts.restore()
        parts.step()
        scheduled = parts.scheduled
        outputs = parts.scheduler.update_from_output(scheduled, parts.output)
        parts.scheduled = None
        done: Future[Any] = Future()
        done.set_result(parts.output)
        core.batch_queue, core.batch_queue_size = deque([(done, scheduled, done)], maxlen=AHEAD), AHEAD
        parts.replace(parts.scheduler, "schedule", lambda *args, **kwargs: scheduled)
        parts.replace(parts.scheduler, "update_from_output", lambda *args, **kwargs: outputs)
        parts.replace(core.model_executor, "execute_model", lambda *args, **kwargs: done)
        parts.replace(core.model_executor, "sample_tokens", lambda *args, **kwargs: done)
        step: Round = core.step_with_batch_queue
        return step


def counted_round(parameters: dict[str, Any]) -> Round:
    return Stepping(parameters).prepare()


def test_core_step_ahead(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The step without its parts."""
    stepping = Stepping(parameters)
    measure(benchmark, parameters, stepping.prepare, lambda: {"scheduled_tokens": stepping.parts.tokens})
