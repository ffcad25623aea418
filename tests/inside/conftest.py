"""Tests that run inside a build's interpreter: real vLLM, `perfproof.patches` and `perfproof.bench`, nothing else of the suite.

`PYTHONPATH=suite BUILD/bin/python -m pytest -o addopts= tests/inside`, or by `make test`. `PERFPROOF_STEPS` sets how many
steps each equivalence machine runs.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path

import pytest

if importlib.util.find_spec("vllm") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def _variables_are_read_when_they_are_asked_for() -> None:
    """An engine that was made keeps all of vLLM's variables as they were then: what a later test sets, such as how processes start, would
    have no effect."""
    envs = importlib.import_module("vllm.envs")
    getattr(envs, "disable_envs_cache", lambda: None)()


def pytest_configure(config: pytest.Config) -> None:
    patches = Path(__file__).parents[2] / "suite" / "perfproof" / "patches"
    os.environ["VLLM_PLUGINS"] = ",".join(sorted(file.stem for file in patches.rglob("*.py")))
    config.addinivalue_line("markers", "cuda: needs a CUDA GPU")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("cuda")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA GPU"))
