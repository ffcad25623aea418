"""A model of a hub is looked for before anything is asked to load it: vLLM would try for minutes.

A process of the baseline's build looks in the cache and asks the hub, with the hub's own client; vLLM is not imported for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import CannotRun
from perfproof.model.base.untrusted import line
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.processes.trial_process import build_environment, run_to_end
from perfproof.run.servers.launch_spec import ModelAt, flags_of

HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
"""How a hub names its models."""
HUBS = ("HF_", "HUGGINGFACE_", "TRANSFORMERS_", "VLLM_USE_MODELSCOPE")
"""Variables that send an arm to another hub or cache than ours."""
LIMIT = 60.0
"""Seconds in which there has to be an answer."""
MISSING = 4
"""The exit code of a model that the hub has not; `suite/perfproof/child/hub.py` has it, too."""


def hub_faults(scenario: Scenario, build: ReadyBuild, model: ModelAt, said: Sequence[str], log: Path) -> list[str]:
    """Why no arm could load its model of a hub; empty where it is no hub's, or there. Raises `CannotRun` where that hub does not answer.

    `build` is whose interpreter is asked, `said` what the workload says of vLLM's arguments. Nothing is asked where it can't be known where
    vLLM looks: another folder or hub is named by a flag or by an arm's variables, or the name is of another form (a bucket's, say).
    """
    flags = flags_of([*said, *(word for arm in scenario.arms for word in arm.server_arguments)])
    elsewhere = "--download-dir" in flags or any(name.startswith(HUBS) for arm in scenario.arms for name in arm.environment)
    if model.offline or elsewhere or not HUB_NAME.fullmatch(model.name) or has(build, model.name, log):
        return []
    fault = "the hub has no model of that name, or none that it shows without a token (HF_TOKEN)"
    return [f"{scenario.source}: workload.model: {model.name}: {fault}; name one, a folder, or one to generate ({{layers: 2, ...}})"]


def has(build: ReadyBuild, model: str, log: Path) -> bool:
    """Whether the cache holds the model, or the hub has it. Raises `CannotRun` where the hub does not answer."""
    command: list[str | Path] = [build.interpreter, build.child / "hub.py", model]
    done = run_to_end(command, environment=build_environment(build, threads=1, hub=True), log=log, timeout=LIMIT)
    if done.code not in (0, MISSING):
        told = line((done.tail(1) if done.code == 1 else "") or f"asking it {done.how()}", 300)
        raise CannotRun(
            f"the model {model} is not in the cache here, and the hub that may have it does not answer: {told}; fetch it where there "
            f"is a network ('hf download {model}') and bring that cache (HF_HOME), or name a folder that holds it"
        )
    return done.ok
