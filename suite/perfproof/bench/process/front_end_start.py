"""The front end of a server is made: `AsyncLLM` with its processors and its loggers, around a client that is there already."""

from __future__ import annotations

from typing import Any

from perfproof.bench.front_end import configuration, front_end_of
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"rounds": 10, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.engine.async_llm:AsyncLLM.__init__", "vllm.v1.metrics.loggers:PrometheusStatLogger.__init__")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a start of a server, in the process that serves HTTP, beside its imports, its tokenizer and its engine"


class Starting:
    """A configuration; each round makes a front end of it."""

    def __init__(self) -> None:
        self.config = configuration(tokenizer=False)
        self.made: list[Any] = []

    def prepare(self) -> Round:
        for front, _ in self.made[-1:]:
            front.shutdown()
        return lambda: self.made.append(front_end_of(self.config))


def counted_round(parameters: dict[str, Any]) -> Round:
    return Starting().prepare()


def test_front_end_start(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A front end's start."""
    starting = Starting()
    measure(benchmark, parameters, starting.prepare, lambda: {"made": len(starting.made)})
