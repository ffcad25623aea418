"""The benchmarks of a part of a step run in this release, call what they say, and do the same work every time."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path

import bench_runs
import pytest
import torch

import perfproof.bench

FOLDER = Path(perfproof.bench.__file__).parent
BENCHES = sorted(str(file.relative_to(FOLDER).with_suffix("")) for file in FOLDER.glob("*/*.py") if "PARAMETERS" in file.read_text())


@pytest.fixture(autouse=True)
def _nothing_is_compiled() -> Iterator[None]:
    """What a function of PyTorch's calls and returns is the same uncompiled, ten seconds sooner."""
    with torch.compiler.set_stance("force_eager"):
        yield


@pytest.mark.parametrize("name", [name for name in BENCHES if "/v2_" not in name])
def test_a_benchmark_does_the_same_work_again_and_calls_what_it_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of its rounds do equal work, which is not none; a round calls what it says. V2's: `model_runner_v2/test_v2_benches.py`."""
    bench = importlib.import_module(f"perfproof.bench.{name.replace('/', '.')}")
    bench_runs.check(bench, bench_runs.small(bench), monkeypatch)


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
