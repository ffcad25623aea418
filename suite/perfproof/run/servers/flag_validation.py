"""What vLLM's own parsers say of the flags that its commands are given, asked before any of them starts.

A build knows its own flags alone, so every build is asked of its own arms; the client's process of that build answers. Arms that load
plugins of their author's are left out: these may bring flags that no parser knows before, and their server tells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.run.servers.bench_client import Client
from perfproof.run.servers.launch_spec import ModelAt, server_words, workload_of
from perfproof.run.servers.server_pool import next_log

BuildOf = Callable[[Arm], ReadyBuild]


def parser_of(build: ReadyBuild, model: ModelAt, logs: Path) -> Client:
    """A client of that build that is only asked what its parsers take; it imports vLLM from now on, its log goes below `logs`."""
    return Client(build, log=next_log(logs, "parser"), folder=model.folder, offline=model.offline)


def asked_arms(scenario: Scenario) -> list[Arm]:
    """The arms whose flags vLLM's parser knows all of."""
    return [arm for arm in scenario.arms if "VLLM_PLUGINS" not in arm.environment]


def other_builds(scenario: Scenario, build_of: BuildOf) -> list[ReadyBuild]:
    """The builds beside the baseline's whose arms are given flags, each once."""
    baseline, common = build_of(scenario.baseline), workload_of(scenario).server_arguments
    builds = {build.id: build for arm in asked_arms(scenario) if common or arm.server_arguments for build in [build_of(arm)]}
    return [build for build in builds.values() if build.id != baseline.id]


def server_faults(scenario: Scenario, client: Client, build_of: BuildOf, model: ModelAt) -> list[str]:
    """What the parser of `vllm serve` of the client's build refuses of that build's arms, by its place in the scenario.

    Raises `CannotRun` where the client can't be asked.
    """
    mine = [arm for arm in asked_arms(scenario) if build_of(arm).id == client.build.id]
    plain = [dataclasses.replace(arm, server_arguments=()) for arm in mine[:1]]
    for arms, where in ((plain, "workload.server_arguments"), (mine, "arms.{}.server_arguments")):
        words = {arm.name: server_words(workload_of(scenario), arm, model, "check", 1) for arm in arms}
        told = {name: client.server_fault(said[said.index("serve") + 1 :]) for name, said in words.items()}
        if faults := [f"{scenario.source}: {where.format(name)}: {fault}" for name, fault in told.items() if fault]:
            return faults  # every arm of the build has the workload's words, and would be told of them again
    return []
