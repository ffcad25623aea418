"""Lets vLLM's own parsers check the flags of its commands before any of them starts.

A build knows only its own flags, so every build checks those of its own arms, in a client's process of that build. Arms that load the
user's own plugins are left out: a plugin may add flags, which only the arm's server can check.
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
    """A client of that build, only for its parsers; it begins to import vLLM now, and its log goes below `logs`."""
    return Client(build, log=next_log(logs, "parser"), folder=model.folder, offline=model.offline)


def checkable_arms(scenario: Scenario) -> list[Arm]:
    """The arms whose flags are all known to vLLM's parser: those without plugins of their own."""
    return [arm for arm in scenario.arms if "VLLM_PLUGINS" not in arm.environment]


def other_builds(scenario: Scenario, build_of: BuildOf) -> list[ReadyBuild]:
    """The builds other than the baseline's whose arms have flags, each once."""
    baseline, common = build_of(scenario.baseline), workload_of(scenario).server_arguments
    builds = {build.id: build for arm in checkable_arms(scenario) if common or arm.server_arguments for build in [build_of(arm)]}
    return [build for build in builds.values() if build.id != baseline.id]


def server_faults(scenario: Scenario, client: Client, build_of: BuildOf, model: ModelAt) -> list[str]:
    """The flags of the build's arms that its parser of `vllm serve` refuses, by place in the scenario.

    Raises `CannotRun` where the client does not answer.
    """
    of_build = [arm for arm in checkable_arms(scenario) if build_of(arm).id == client.build.id]
    plain = [dataclasses.replace(arm, server_arguments=()) for arm in of_build[:1]]
    for arms, where in ((plain, "workload.server_arguments"), (of_build, "arms.{}.server_arguments")):
        words = {arm.name: server_words(workload_of(scenario), arm, model, "check", 1) for arm in arms}
        refusals = {name: client.server_fault(arguments[arguments.index("serve") + 1 :]) for name, arguments in words.items()}
        if faults := [f"{scenario.source}: {where.format(name)}: {fault}" for name, fault in refusals.items() if fault]:
            return faults  # every arm of the build has the workload's words, and would repeat this fault
    return []
