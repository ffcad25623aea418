"""A real vLLM engine is counted: the same each time, feature by feature, and faults stay where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.builds.process import run_to_end
from suite.builds.ready import ReadyBuild
from suite.run.process import build_environment

TORCH = """
import torch
from suite.child.counting import Operators
counts = []
for _ in range(2):
    operators = Operators()
    operators.start()
    a = torch.ones(4, 8)
    b = (a + a).sort(dim=1)
    counts.append(operators.stop().operators)
    a + a
assert counts[0] == counts[1], counts
print(sorted(counts[0].items()))
"""


@pytest.mark.vllm
def test_operators_are_counted_with_the_bytes_of_their_results(served_build: ReadyBuild, tmp_path: Path) -> None:
    """A sum of 4 x 8 floats is 128 bytes; a sort gives as many again and their places; what comes after is not counted."""
    script, log = tmp_path / "torch_counts.py", tmp_path / "log"
    script.write_text(TORCH)
    done = run_to_end([served_build.interpreter, script], environment=build_environment(served_build, threads=1), log=log, timeout=120)
    assert done.ok, done.tail()
    assert "('aten::add.Tensor', [1, 128])" in log.read_text()
    assert "('aten::sort', [1, 384])" in log.read_text()
