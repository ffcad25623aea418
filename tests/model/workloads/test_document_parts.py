"""Workloads in scenario files: what may be left out, what is refused, and that older records keep their digest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from perfproof.model.base.errors import BadInput
from perfproof.model.documents import decode
from perfproof.model.kinds.offline import OfflineWorkload
from perfproof.model.kinds.serve import ServeWorkload
from perfproof.model.scenarios.scenario import Profile, Scenario, ToyModel

SERVE = {"kind": "serve", "model": {"layers": 1}, "requests": 8}
OFFLINE = {"kind": "offline", "bench": "latency", "model": {"layers": 1, "vocabulary": 10_240}}
TITLES = {"template": "{title} ({i})", "values": {"title": ["A", "B"]}}


def loaded(folder: Path, workload: Mapping[str, Any], profile: Profile = "quick", arm: Mapping[str, Any] | None = None) -> Scenario:
    data = {
        "schema": 1,
        "question": "Is it?",
        "workload": workload,
        "arms": {"a": {"baseline": True}, "b": dict(arm or {})},
        "metrics": {"output_throughput": {"primary": True}},
    }
    (folder / "asked.yaml").write_text(yaml.safe_dump(data))
    return decode.load_scenario(folder / "asked.yaml", profile)


def faults(folder: Path, workload: Mapping[str, Any], arm: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    with pytest.raises(BadInput) as caught:
        loaded(folder, workload, arm=arm)
    return caught.value.faults


def test_warm_ups_left_out_are_a_full_wave(tmp_path: Path) -> None:
    """All requests, or as many as run at once."""
    asked = loaded(tmp_path, SERVE).workload
    assert isinstance(asked, ServeWorkload)
    assert asked.warmups == 8
    limited = loaded(tmp_path, {**SERVE, "client": {"max-concurrency": 3}}).workload
    assert isinstance(limited, ServeWorkload)
    assert limited.warmups == 3


@pytest.mark.parametrize(("profile", "launches"), [("quick", "shared"), ("standard", "fresh"), ("thorough", "fresh")])
def test_launches_left_out_are_the_profiles(tmp_path: Path, profile: Profile, launches: str) -> None:
    """Quick shares its servers; the others give every trial one."""
    asked = loaded(tmp_path, SERVE, profile).workload
    assert isinstance(asked, ServeWorkload)
    assert asked.launches == launches


def test_keys_that_came_later_are_not_in_a_definition_that_does_not_say_them(tmp_path: Path) -> None:
    """A record of before has the digest that the same file has now; what is said is kept."""
    plain = loaded(tmp_path, SERVE).definition["workload"]
    assert set(plain["model"]) == {"layers", "hidden", "heads", "vocabulary", "context"}
    assert "dataset" not in plain
    said = loaded(tmp_path, {**SERVE, "model": {"toy": "qwen3_moe", "experts": 8}, "dataset": TITLES}).definition["workload"]
    assert said["model"]["toy"] == "qwen3_moe"
    assert said["model"]["experts"] == 8
    assert said["dataset"]["template"] == "{title} ({i})"


def test_a_definition_gives_the_same_scenario_again(tmp_path: Path) -> None:
    """What a record keeps of a scenario is the scenario: model, data set and digest come back."""
    asked = loaded(tmp_path, {**SERVE, "model": {"toy": "splade"}, "dataset": {**TITLES, "output_tokens": [1, 4]}})
    again = decode.scenario_of(asked.definition, source="a record")
    assert again.workload == asked.workload
    assert again.digest == asked.digest
    assert isinstance(again.workload, ServeWorkload)
    assert isinstance(again.workload.model, ToyModel)
    assert again.workload.model.toy == "splade"


def test_an_offline_workload_is_read(tmp_path: Path) -> None:
    """A bench of vLLM's own, a model, its flags."""
    asked = loaded(tmp_path, {**OFFLINE, "arguments": {"batch-size": 4}}).workload
    assert isinstance(asked, OfflineWorkload)
    assert (asked.bench, asked.arguments) == ("latency", {"batch-size": 4})


@pytest.mark.parametrize(
    ("workload", "arm", "told"),
    [
        ({**SERVE, "model": {"toy": "gpt2"}}, {}, "workload.model.toy: expected 'llama', 'qwen3'"),
        ({**SERVE, "dataset": {"template": "{x}"}}, {}, "{x} has no entry under 'values'"),
        ({**SERVE, "dataset": {"template": "x", "values": {"y": ["a"]}}}, {}, "values.y: is not in the template"),
        ({**SERVE, "dataset": {**TITLES, "output_tokens": [4, 1]}}, {}, "output_tokens: expected the least and the most"),
        ({**SERVE, "dataset": {**TITLES, "draw": "sometimes"}}, {}, "workload.dataset.draw: expected 'in turn' or 'at random'"),
        ({**OFFLINE, "bench": "startup"}, {}, "workload.bench: expected 'latency' or 'throughput'"),
        (OFFLINE, {"client": {"temperature": 1}}, "arms.b.client: a workload of kind 'offline' has none"),
        ({"kind": "micro", "bench": "x"}, {"server_arguments": ["--x"]}, "arms.b.server_arguments: a workload of kind 'micro' has none"),
    ],
)
def test_a_fault_of_a_workload_is_reported_with_its_place(
    tmp_path: Path, workload: Mapping[str, Any], arm: Mapping[str, Any], told: str
) -> None:
    """Each kind of fault names its place in the file."""
    found = faults(tmp_path, workload, arm)
    assert any(told in fault for fault in found), found
