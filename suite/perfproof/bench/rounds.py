"""Times the rounds of a benchmark whose state is built outside the timed part: what most benchmarks of the rooms below share.

Such a benchmark has a state with a method `prepare`: each call makes ready for one round, untimed, and gives the round itself, a call of
vLLM without arguments. `counted_round(parameters)` is the first round of a state of its own; the test hands `prepare` to `measure`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Round = Callable[[], object]
Prepare = Callable[[], Round]


def measure(
    benchmark: Any,
    parameters: Mapping[str, Any],
    prepare: Prepare,
    work: Callable[[], Mapping[str, int]],
    *,
    witnesses: Mapping[str, float] | None = None,
) -> None:
    """Times `parameters["rounds"]` rounds, each prepared before it begins.

    `work()`, asked afterwards, says what was done: arms that did other work are not compared. `witnesses` are exact counts that the
    benchmark took of rounds of their own.
    """
    benchmark.pedantic(
        _call,
        setup=lambda: ((prepare(),), {}),
        rounds=parameters["rounds"],
        warmup_rounds=parameters["warmup_rounds"],
        iterations=1,
    )
    benchmark.extra_info["parameters"] = dict(parameters)
    benchmark.extra_info["work"] = dict(work())
    if witnesses:
        benchmark.extra_info["witnesses"] = dict(witnesses)


def _call(prepared: Round) -> None:
    prepared()
