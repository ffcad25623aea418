"""One server for arms that differ in the delay of a step alone: the delay is set while the server is up.

Two launches of one server differ by more than such a delay costs, so its arms are measured on one.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping

from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.patches.planted.step_delay import PATCH, STEPS, VARIABLE, WAITED, set_delay
from perfproof.run.servers.server import Server


def host_of(scenario: Scenario, arm: Arm, *, together: bool) -> Arm:
    """The arm whose server also serves `arm`: where all are up `together` the first that differs from it in its delay alone."""
    if not together or not _delays(arm):
        return arm
    return next(one for one in scenario.arms if _delays(one) and _rest(one) == _rest(arm))


def _delays(arm: Arm) -> bool:
    return PATCH.name in arm.patches and VARIABLE in arm.environment


def _rest(arm: Arm) -> Arm:
    others = {name: value for name, value in arm.environment.items() if name != VARIABLE}
    return dataclasses.replace(arm, name="", baseline=False, environment=others)


def switch(server: Server, arm: Arm) -> None:
    """Sets the arm's delay in its server, if it has one. A server whose plugin did not load has none to set; its attestation tells."""
    if _delays(arm):
        with contextlib.suppress(FileNotFoundError):
            set_delay(server.launch.attest, int(arm.environment[VARIABLE]))


def fault(arm: Arm, calls: Mapping[str, int]) -> str:
    """Why a trial is not shown to have had the arm's delay in its steps, by what was counted meanwhile; "" if it is."""
    if not _delays(arm):
        return ""
    steps, waited = calls.get(STEPS, 0), calls.get(WAITED, 0)
    wanted = int(arm.environment[VARIABLE])
    if not steps:
        return f"variable {VARIABLE}: no step was delayed"
    if waited < 1000 * wanted * steps:
        return f"variable {VARIABLE}: steps were delayed by {waited / steps / 1000:.1f} us on average, not by {wanted}"
    return ""
