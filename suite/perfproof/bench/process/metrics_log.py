"""The line of statistics that a server logs (`StatLoggerManager.log`)."""

from __future__ import annotations

from typing import Any

from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "prompt_tokens": 64, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.metrics.loggers:LoggingStatLogger.log",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once in ten seconds, in the process that serves HTTP"
COUNT_AT = {"requests": 16}


class Logging:
    """A step of the engine; the round is what is logged of it."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters)
        self.lines = 0

    def prepare(self) -> Round:
        self.parts.engine.step()
        self.lines += 1
        log: Round = self.parts.engine.logger_manager.log
        return log


def counted_round(parameters: dict[str, Any]) -> Round:
    return Logging(parameters).prepare()


def test_metrics_log(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A line of the log."""
    logging = Logging(parameters)
    measure(benchmark, parameters, logging.prepare, lambda: {"lines": logging.lines})
