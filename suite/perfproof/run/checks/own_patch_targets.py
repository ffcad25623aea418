"""Patches of the user's own are loaded once before anything is measured: which functions they replace, so that every arm counts these.

A patch that fails to load is reported here, before its first trial. Trials prove it again, each for itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.run.checks.catalog import remember_targets
from perfproof.run.processes import attestation
from perfproof.run.processes.trial_process import arm_variables, build_environment, how_ended, run_to_end, tail

LOAD = "from vllm.plugins import load_general_plugins; load_general_plugins()"
LIMIT = 600.0
"""Seconds."""


def find_targets(scenario: Scenario, ready: Mapping[str, ReadyBuild]) -> None:
    """Loads the own patches of every arm in its build, and remembers what they replace.

    Raises `BadInput` for those that can't be loaded.
    """
    faults = []
    for arm in scenario.arms:
        names = {patch.name for patch in arm.own_patches} & set(arm.patches)
        if names and (fault := _load(arm, ready[scenario.builds[arm.build].key])):
            faults.append(f"{scenario.source}: arms.{arm.name}.patches: {fault}")
    if faults:
        raise BadInput(*faults)


def _load(arm: Arm, build: ReadyBuild) -> str:
    """Why an arm's plugins can't be loaded; "" if they can."""
    with tempfile.TemporaryDirectory(prefix="perfproof-") as folder:
        attests, log = Path(folder) / "attest", Path(folder) / "load.log"
        environment = {**build_environment(build, arm, threads=1), **arm_variables(arm, attest=attests, watch=())}
        ended = run_to_end([build.interpreter, "-c", LOAD], environment=environment, log=log, timeout=LIMIT)
        attested = attestation.read(attests, build, arm)
        refused = {} if attested is None else attested.refused
        for patch in arm.own_patches:
            if patch.name in refused:
                return refused[patch.name]
            if attested is not None and patch.name in attested.patches:
                remember_targets(patch, attested.patches[patch.name]["targets"])
        return "" if ended.code == 0 else f"loading them {how_ended(ended.code, ended.seconds)}:\n{tail(log, 8)}"
