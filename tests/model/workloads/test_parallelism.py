"""How many workers an arm's flags ask for."""

from __future__ import annotations

from typing import Any

import pytest

from perfproof.model.documents.decode import scenario_of
from perfproof.model.workloads.parallelism import Parallelism, parallelism
from perfproof.model.workloads.workload import Workload
from tests.factory import DEFINITION

SERVE: dict[str, Any] = {"kind": "serve", "model": {}, "requests": 1, "warmups": 1}


def workload(**document: Any) -> Workload:
    metrics = {"output_throughput": {"primary": True, "margin": 0.02}}
    return scenario_of({**DEFINITION, "workload": document, "metrics": metrics}, source="example").workload


@pytest.mark.parametrize(
    ("words", "own", "sizes"),
    [
        ([], (), (1, 1, 1)),
        (["--tensor-parallel-size=2"], (), (2, 1, 1)),
        (["--tensor-parallel-size", "2"], (), (2, 1, 1)),
        (["--tensor_parallel_size=2"], (), (2, 1, 1)),
        (["-tp", "4"], (), (4, 1, 1)),
        (["-tp=4", "-pp", "2", "--data-parallel-size=3"], (), (4, 2, 3)),
        (["--tensor-parallel-size=2"], ("-tp=1",), (1, 1, 1)),
        ([], ("--data-parallel-size", "2"), (1, 1, 2)),
        (["--tensor-parallel-size=0"], (), (1, 1, 1)),
        (["--tensor-parallel-size", "--enforce-eager"], (), (1, 1, 1)),
        (["--data-parallel-size-local=2"], (), (1, 1, 1)),
    ],
)
def test_sizes_are_read_from_a_servers_words(words: list[str], own: tuple[str, ...], sizes: tuple[int, int, int]) -> None:
    """However vLLM lets them be written; the arm's words come behind the workload's, and the last counts."""
    found = parallelism(workload(**SERVE, server_arguments=words), own)
    assert (found.tensor, found.pipeline, found.data) == sizes
    assert found.workers == sizes[0] * sizes[1] * sizes[2]
    assert found.per_step == sizes[0] * sizes[1]


def test_sizes_are_read_from_flags_without_dashes() -> None:
    """As an offline workload has them."""
    offline = {"kind": "offline", "bench": "throughput", "model": {}, "arguments": {"num-prompts": 8, "tensor-parallel-size": 2}}
    assert parallelism(workload(**offline)) == Parallelism(tensor=2)
