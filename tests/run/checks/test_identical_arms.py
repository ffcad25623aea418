"""Arms that run the same code: found in any number of arms, each reported once."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.model.scenarios.scenario import Arm, PythonBuild
from perfproof.run.checks import identical_arms
from tests import toy

ENVIRONMENTS = st.dictionaries(st.sampled_from("AB"), st.sampled_from("12"), max_size=2)
ARMS = st.lists(st.tuples(ENVIRONMENTS, st.sampled_from(["here", "there"]), st.sampled_from([{}, {"x": 1}, {"x": 1.0}, {"x": "1"}])))


def told(arms: list[Arm]) -> list[str]:
    builds = {name: PythonBuild(name=name, path=f"/{name}/python") for name in ("here", "there", "default")}
    scenario = dataclasses.replace(toy.scenario(Path("/here/python")), arms=tuple(arms), builds=builds)
    return identical_arms.faults(scenario, {})


@settings(deadline=None)
@given(ARMS)
def test_every_arm_that_runs_what_one_before_it_does_is_reported(said: list[tuple[dict[str, str], str, dict[str, object]]]) -> None:
    """By its build, environment and arguments, whatever the order in which they are written."""
    arms = [
        dataclasses.replace(toy.arm(f"a{number}"), environment=environment, build=build, client=client)  # type: ignore[arg-type]
        for number, (environment, build, client) in enumerate(said)
    ]
    same = [arms[n].name for n, one in enumerate(said) if one in said[:n]]
    found = told(arms)
    assert len(found) == len(same)
    for name, fault in zip(same, found, strict=True):
        assert f" and {name}: both arms run the same code" in fault


def test_ten_thousand_arms_are_compared() -> None:
    """Each with those of its own settings alone, not every one with every other."""
    arms = [dataclasses.replace(toy.arm(f"a{number}"), environment={"X": str(number)}) for number in range(10_000)]
    assert told(arms) == []
    assert len(told([*arms, dataclasses.replace(arms[5000], name="again")])) == 1


def test_a_file_without_arms_is_refused_with_what_to_do() -> None:
    """It is no comparison of equal arms: the sentence names the commands that bring builds."""
    scenario = dataclasses.replace(toy.scenario(Path("/here/python")), arms_left_out=True)
    (fault,) = identical_arms.faults(scenario, {})
    assert fault.startswith(f"{scenario.source}: arms: is missing")
    assert "--candidate" in fault
    assert "perfproof pr --diff my.diff --scenarios" in fault
