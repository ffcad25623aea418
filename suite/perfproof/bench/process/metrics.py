"""A step's statistics go to the loggers: Prometheus's counters and histograms, and what the log will say (`StatLoggerManager.record`)."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "ending": 8, "prompt_tokens": 64, "rounds": 40, "warmup_rounds": 4, "seed": 7}
LEAST = {"ending": 0}
EXERCISES = ("vllm.v1.metrics.loggers:PrometheusStatLogger.record",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step in the process that serves HTTP, unless --disable-log-stats; it grows with requests and with those that end"
COUNT_AT = {"requests": 16, "ending": 4}


class Recording:
    """Steps in which requests come, take their only token and end, while others decode; the round records the step once more."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.ending = parameters["ending"]
        self.parts = Parts(parameters)

    def prepare(self) -> Round:
        parts = self.parts
        parts.settle()
        for _ in range(self.ending):
            parts.add(max_tokens=1)
        args, kwargs = parts.given(parts.engine.logger_manager, "record", parts.engine.step)
        record = parts.engine.logger_manager.record
        return lambda: record(*args, **kwargs)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Recording(parameters).prepare()


def test_metrics(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's statistics."""
    recording = Recording(parameters)
    measure(benchmark, parameters, recording.prepare, lambda: {"requests": recording.parts.made})
