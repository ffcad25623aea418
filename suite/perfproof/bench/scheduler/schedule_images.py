"""One call of `Scheduler.schedule` in which requests with images arrive: which images are encoded in the step, and where they are kept."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.scheduler.seeing import Seeing

PARAMETERS = {"requests": 8, "images": 4, "image_tokens": 64, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler._try_schedule_encoder_inputs",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once for a step in which requests with images arrive; it is part of their time to first token"
COUNT_AT = {"requests": 2}


def _scheduling(seeing: Seeing) -> Round:
    seeing.arrive()
    return seeing.schedule


def counted_round(parameters: dict[str, Any]) -> Round:
    return _scheduling(Seeing(parameters))


def test_schedule_images(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step with images."""
    seeing = Seeing(parameters)
    measure(benchmark, parameters, lambda: _scheduling(seeing), lambda: {"images": seeing.seen})
