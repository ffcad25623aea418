"""Benchmarks run without pytest-benchmark's clock: what they say that they did, and which functions a round calls."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import pytest

FEW = {"rounds": 2, "warmup_rounds": 0}


class Once:
    """pytest-benchmark without its clock: every round runs, and what a benchmark says of itself is kept."""

    def __init__(self) -> None:
        self.extra_info: dict[str, Any] = {}
        self.stats = None

    def pedantic(self, function: Callable[..., Any], *, setup: Callable[[], Any], rounds: int, **how: Any) -> None:
        for _ in range(rounds):
            arguments, keywords = setup()
            function(*arguments, **keywords)


def small(bench: Any) -> dict[str, Any]:
    """The benchmark's parameters, at the size at which it is counted."""
    return {**bench.PARAMETERS, **getattr(bench, "COUNT_AT", {}), **FEW}


def work(bench: Any, parameters: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What each test of a benchmark says that it did."""
    done = []
    for test in [function for name, function in vars(bench).items() if name.startswith("test_")]:
        benchmark = Once()
        given = {"benchmark": benchmark, "parameters": dict(parameters), "monkeypatch": monkeypatch}
        test(**{name: given[name] for name in inspect.signature(test).parameters})
        done.append({name: told for name, told in benchmark.extra_info.items() if name != "measurements"})
    return done


def called(function: Callable[[], object]) -> set[str]:
    """The functions that a call calls, by module and qualified name."""
    seen: set[str] = set()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}")

    sys.setprofile(look)
    try:
        function()
    finally:
        sys.setprofile(None)
    return seen


def check(bench: Any, parameters: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of its rounds do equal work, which is not none, and the round that is counted calls the functions of `EXERCISES`."""
    first = work(bench, parameters, monkeypatch)
    assert first == work(bench, parameters, monkeypatch)
    assert all(any(told["work"].values()) for told in first)
    assert [target for target in bench.EXERCISES if target not in called(bench.counted_round(dict(parameters)))] == []
