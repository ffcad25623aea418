"""Scenarios say which model runner they measure: V1 and V2 in their first line; on a GPU host the release's own is measured first."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomllib

from perfproof.model.documents.decode import load_scenario
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.checks.catalog import patches

FOLDER = Path(__file__).resolve().parents[1] / "scenarios"
ON_CUDA = sorted(FOLDER.glob("*_cuda.yaml"))
V2 = "vllm.v1.worker.gpu."
"""Where Model Runner V2 lies."""


def runners_of(scenario: Scenario) -> set[str]:
    """The runners that a scenario's arms name, and those whose classes their patches replace: "v1", "v2"."""
    named = {arm.runner for arm in scenario.arms if arm.runner in ("v1", "v2")}
    known = patches()
    places = [known[name].targets for arm in scenario.arms for name in arm.patches if name in known]
    return named | {"v2" if any(target.module.startswith(V2) for target in targets) else "v1" for targets in places}


@pytest.mark.parametrize("file", ON_CUDA, ids=lambda file: file.stem)
def test_a_scenario_for_cuda_names_its_model_runner_in_its_first_line(file: Path) -> None:
    """V1's and V2's scenarios say so; others that their arms run what the release chooses."""
    first = file.read_text(encoding="utf-8").partition("\n")[0].lower()
    assert "model runner" in first
    assert [runner for runner in runners_of(load_scenario(file, "quick")) if runner not in first] == []


def test_a_gpu_host_measures_the_releases_own_runner_first() -> None:
    """`make bench` there begins with the runner that vLLM chooses by itself, as the baseline, beside V1 and V2."""
    listed = tomllib.loads((FOLDER / "main.toml").read_text(encoding="utf-8"))["cuda"]
    first = load_scenario(FOLDER / listed[0], "quick")
    assert first.baseline.runner == "default"
    assert {arm.runner for arm in first.arms} == {"default", "v1", "v2"}
    assert all(name.endswith("_cuda.yaml") for name in listed)
