"""Arms that differ in a step's delay alone are measured on one server, each with its own delay, and prove that they had it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from perfproof.patches.planted.step_delay import PATCH, STEPS, VARIABLE, WAITED
from perfproof.run.servers import switched_delay
from tests import toy


def arms(*delays: int) -> list[toy.Arm]:
    return [
        dataclasses.replace(toy.arm(f"delay_{delay}us", PATCH.name, environment={VARIABLE: str(delay)}), baseline=delay == 0)
        for delay in delays
    ]


def test_arms_that_differ_in_their_delay_alone_share_a_server() -> None:
    """The first one's, where servers are up together; with fresh launches every trial has its own."""
    own = arms(0, 50, 400)
    scenario = toy.scenario(Path("p"), *own)
    assert [switched_delay.host_of(scenario, arm, together=True).name for arm in own] == ["delay_0us"] * 3
    assert [switched_delay.host_of(scenario, arm, together=False) for arm in own] == own


def test_arms_that_differ_in_more_have_servers_of_their_own() -> None:
    """Other settings, other patches, and a variable that no patch reads, are other servers."""
    plain, fifty = arms(0, 50)
    others = [
        dataclasses.replace(fifty, environment={**fifty.environment, "VLLM_X": "1"}),
        dataclasses.replace(fifty, server_arguments=("--x",)),
        dataclasses.replace(fifty, patches=()),
        dataclasses.replace(fifty, runner="v2"),
        toy.arm("none"),
    ]
    for other in others:
        assert switched_delay.host_of(toy.scenario(Path("p"), plain, other), other, together=True) is other


def test_a_delay_is_proved_by_what_was_waited() -> None:
    """Steps must have waited at least the arm's delay, on average; a server without a delayed step proves nothing."""
    (fifty,) = arms(50)
    assert switched_delay.fault(fifty, {STEPS: 10, WAITED: 500_000}) == ""
    assert "by 49.0 us on average, not by 50" in switched_delay.fault(fifty, {STEPS: 10, WAITED: 490_000})
    assert "no step was delayed" in switched_delay.fault(fifty, {})
    assert switched_delay.fault(toy.arm("plain"), {}) == ""
