"""The benchmarks of a part of a step run in this release, call what they say, and do the same work every time."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import perfproof.bench

FOLDER = Path(perfproof.bench.__file__).parent
BENCHES = sorted(str(file.relative_to(FOLDER).with_suffix("")) for file in FOLDER.glob("*/*.py") if "PARAMETERS" in file.read_text())
FEW = {"rounds": 2, "warmup_rounds": 0}


class Once:
    """pytest-benchmark without its clock: every round runs, and what a benchmark says of itself is kept."""

    def __init__(self) -> None:
        self.extra_info: dict[str, Any] = {}

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
        done.append(benchmark.extra_info)
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


@pytest.mark.parametrize("name", BENCHES)
def test_a_benchmark_does_the_same_work_again_and_calls_what_it_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of its rounds do equal work, which is not none, and the round that is counted calls the functions of `EXERCISES`."""
    bench = importlib.import_module(f"perfproof.bench.{name.replace('/', '.')}")
    parameters = small(bench)
    first = work(bench, parameters, monkeypatch)
    assert first == work(bench, parameters, monkeypatch)
    assert all(any(told["work"].values()) for told in first)
    assert [target for target in bench.EXERCISES if target not in called(bench.counted_round(parameters))] == []


@pytest.mark.parametrize("shape", ["text", "reasoning", "tools"])
def test_a_chat_that_streams_reads_as_it_was_said(shape: str) -> None:
    """What a client puts together of the lines is the text of the tokens that the engine gave, thoughts and calls apart."""
    from perfproof.bench.outputs import chat

    ids = chat.answer(shape, 200, 3)
    said = chat.marked_tokenizer().decode(ids)
    got = chat.message(chat.chunks(shape, chat.outputs(ids, 16), chat.request(shape)))
    if shape == "tools":
        (call,) = got["tools"]
        assert {**call, "arguments": json.loads(call["arguments"])} == json.loads(said.split("<tool_call>")[1].split("</tool_call>")[0])
        assert got["content"] == got["reasoning"] == ""
    else:
        thoughts = f"<think>{got['reasoning']}</think>" if shape == "reasoning" else ""
        assert thoughts + got["content"] == said
