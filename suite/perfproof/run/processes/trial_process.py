"""The processes of trials. `perfproof.builds.processes.supervised_process` starts, watches and ends them.

Only that module imports `subprocess`; it is one floor down, because making a build needs it too. This module decides the environment of
every process of an arm. It is made from scratch, so that nothing of the caller's shell leaks into one arm and not into the other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from perfproof.builds.install import own_patch_folders
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.processes.redact import scrub, scrub_file
from perfproof.builds.processes.supervised_process import (
    INHERITED,
    OUT_OF_TIME,
    Channel,
    Running,
    how_ended,
    inherited,
    run_to_end,
    signal_name,
    start,
    tail,
)
from perfproof.model.base.errors import CannotRun
from perfproof.model.scenarios import model_runner
from perfproof.model.scenarios.scenario import Arm
from perfproof.patches.attestation_report import VARIABLES
from perfproof.run.processes.env_vars import of_caches

__all__ = [
    "ATTEST_PLUGIN",
    "OUT_OF_TIME",
    "TAKEN",
    "Channel",
    "Ended",
    "Running",
    "arm_variables",
    "build_environment",
    "how_ended",
    "inherited",
    "own_plugins",
    "own_variables",
    "run_to_end",
    "scrub",
    "scrub_file",
    "shown_variables",
    "signal_name",
    "start",
    "tail",
]

ATTEST_PLUGIN = "perfproof_attest"

PINNED: Mapping[str, str] = {
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONNOUSERSITE": "1",
    "PYTHONUNBUFFERED": "1",
    "VLLM_LOGGING_COLOR": "0",
}
"""The same variables for every arm, unless its scenario sets others."""

PASSED = frozenset(
    [
        "HF_HOME",
        "HF_HUB_OFFLINE",
        "HF_ENDPOINT",
        "HF_HUB_CACHE",
        "TRANSFORMERS_OFFLINE",
        "NVIDIA_VISIBLE_DEVICES",
    ]
)
"""Variables that say where models come from: passed on, never recorded."""

TOKEN = frozenset(["HF_TOKEN"])
"""Tokens for a hub's private models: passed on only to a process that may load one, never recorded."""

TAKEN = INHERITED | PASSED | TOKEN
"""The variables of the caller's shell that all arms get."""


class Ended(CannotRun):
    """A program that a trial needs has ended, or did not start; `killed` says that a SIGKILL from outside ended it."""

    def __init__(self, message: str, *, killed: bool = False) -> None:
        super().__init__(message)
        self.killed = killed


def build_environment(build: ReadyBuild, arm: Arm | None = None, *, threads: int, hash_seed: int = 0, hub: bool = False) -> dict[str, str]:
    """The environment of a process of that build without an arm's variables, except for the folders that `arm` adds to `PYTHONPATH`.

    An overlay's vLLM comes first on `PYTHONPATH`, before the interpreter's own. The side folder there gives the patches and their entry
    points to every process that vLLM starts. `VLLM_PLUGINS` is always set, because without it vLLM loads every plugin. `threads` is
    `OMP_NUM_THREADS`; `hash_seed` is `PYTHONHASHSEED`, which the arms of a block share. With `hub` the process may load models of a hub,
    and gets the user's token for it.
    """
    added = arm.environment.get("PYTHONPATH") if arm else None
    own = [str(own_patch_folders.place(patch, build.side.parent)) for patch in arm.own_patches] if arm else []
    return {
        **inherited(also=PASSED | TOKEN if hub else PASSED),
        **PINNED,
        **of_caches(build),
        **({} if build.ours else {"PYTHONDONTWRITEBYTECODE": "1"}),
        "OMP_NUM_THREADS": str(threads),
        "PYTHONHASHSEED": str(hash_seed % 2**32),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(build.front or ""), str(build.side), *own, added])),
        "VLLM_PLUGINS": ATTEST_PLUGIN,
        **({"PERFPROOF_MOUNTS": json.dumps(build.container.mounts)} if build.container else {}),
    }


def own_variables(arm: Arm) -> dict[str, str]:
    """The variables that the scenario sets for the arm, its model runner's among them, without `PYTHONPATH`, which would remove the side
    folder."""
    return {**{name: value for name, value in arm.environment.items() if name != "PYTHONPATH"}, **model_runner.variables(arm.runner)}


def own_plugins(arm: Arm) -> list[str]:
    """The plugins that the arm lists besides the suite's patches."""
    return [name for name in arm.environment.get("VLLM_PLUGINS", "").split(",") if name]


def shown_variables(build: ReadyBuild, arm: Arm) -> dict[str, str]:
    """The variables that the arm sets, each with the value that its processes must have."""
    whole = {**build_environment(build, arm, threads=1), **arm_variables(arm, attest=Path(), watch=())}
    return {name: whole[name] for name in arm.environment}


def arm_variables(arm: Arm, *, attest: Path, watch: Iterable[str]) -> dict[str, str]:
    """The variables that distinguish an arm: its patches, its own variables, and the folder of its attestations.

    The user's own plugins stay active if the arm lists them in its `VLLM_PLUGINS`.
    """
    variables = {
        **own_variables(arm),
        "VLLM_PLUGINS": ",".join([ATTEST_PLUGIN, *arm.patches, *own_plugins(arm)]),
        VARIABLES: " ".join(sorted(arm.environment)),
        "PERFPROOF_ATTEST": str(attest),
        "PERFPROOF_WATCH": " ".join(sorted(set(watch))),
    }
    if arm.allow_unverified:
        variables["PERFPROOF_ALLOW_UNVERIFIED"] = "1"
    return variables
