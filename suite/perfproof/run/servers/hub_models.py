"""Checks that a hub has a model before any process loads it: vLLM would try for minutes.

A process of the baseline's build looks in the cache and asks the hub, with the hub's own client and without vLLM.
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
"""The form of a model's name on a hub."""
HUBS = ("HF_", "HUGGINGFACE_", "TRANSFORMERS_", "VLLM_USE_MODELSCOPE")
"""Variables that make an arm use another hub or cache than ours."""
LIMIT = 60.0
"""Seconds to wait for an answer."""
MISSING = 4
"""The exit code for a model that the hub does not have; `suite/perfproof/child/hub.py` has the same."""


def hub_faults(scenario: Scenario, build: ReadyBuild, model: ModelAt, given: Sequence[str], log: Path) -> list[str]:
    """Why no arm could load its model from a hub; empty if the hub has it, or it is no hub's model. Raises `CannotRun` if the hub does not
    answer.

    `build` has the interpreter that asks, `given` are the workload's arguments for vLLM. There is no check if it is unknown where vLLM
    looks: a flag or an arm's variable names another folder or hub, or the name has another form (for example a bucket's).
    """
    flags = flags_of([*given, *(word for arm in scenario.arms for word in arm.server_arguments)])
    elsewhere = "--download-dir" in flags or any(name.startswith(HUBS) for arm in scenario.arms for name in arm.environment)
    if model.offline or elsewhere or not HUB_NAME.fullmatch(model.name) or has(build, model.name, log):
        return []
    fault = "the hub has no model of that name, or shows it only with a token (HF_TOKEN)"
    return [
        f"{scenario.source}: workload.model: {model.name}: {fault}; name another model, a folder, or one to generate ({{layers: 2, ...}})"
    ]


def has(build: ReadyBuild, model: str, log: Path) -> bool:
    """Whether the cache holds the model, or the hub has it. Raises `CannotRun` where the hub does not answer."""
    command: list[str | Path] = [build.interpreter, build.child / "hub.py", model]
    done = run_to_end(command, environment=build_environment(build, threads=1, hub=True), log=log, timeout=LIMIT)
    if done.code not in (0, MISSING):
        reason = line((done.tail(1) if done.code == 1 else "") or f"asking it {done.how()}", 300)
        raise CannotRun(
            f"the model {model} is not in the cache here, and the hub does not answer: {reason}; download it on a machine with a "
            f"network ('hf download {model}') and copy that cache (HF_HOME), or name a folder that holds it"
        )
    return done.ok
