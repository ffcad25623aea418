"""The line of statistics that a server logs: a step's are taken in, and the line is written (`LoggingStatLogger.record`, `log`)."""

from __future__ import annotations

from typing import Any

from perfproof.bench.adapter import find
from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 64, "prompt_tokens": 64, "engines": "one", "rounds": 20, "warmup_rounds": 2, "seed": 7}
CHOICES = {"engines": ("one", "all")}
EXERCISES = ("vllm.v1.metrics.loggers:LoggingStatLogger.record", "vllm.v1.metrics.loggers:LoggingStatLogger.log")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once in ten seconds, in the process that serves HTTP; the taking in, once a step"
COUNT_AT = {"requests": 16}


class Logging:
    """Steps of the engine; the round is what is logged of one, as of one engine or of all together."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters)
        config = self.parts.engine.vllm_config
        if parameters["engines"] == "all":
            self.logger = find("vllm.v1.metrics.loggers:AggregatedLoggingStatLogger")(config, [0])
        else:
            self.logger = find("vllm.v1.metrics.loggers:LoggingStatLogger")(config, 0)
        self.lines = 0

    def prepare(self) -> Round:
        args, kwargs = self.parts.given(self.parts.engine.logger_manager, "record", self.parts.engine.step)
        return lambda: self.log(args, {name: value for name, value in kwargs.items() if name != "engine_idx"})

    def log(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.logger.record(*args, **kwargs, engine_idx=0)
        self.logger.log()
        self.lines += 1


def counted_round(parameters: dict[str, Any]) -> Round:
    return Logging(parameters).prepare()


def test_metrics_log(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A line of the log."""
    logging = Logging(parameters)
    measure(benchmark, parameters, logging.prepare, lambda: {"lines": logging.lines})
