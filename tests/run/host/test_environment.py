"""What a record keeps of the machine, and what it never keeps."""

from __future__ import annotations

import getpass
import json
import os
import socket
from pathlib import Path

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.kinds.serve import ServeWorkload
from perfproof.run.host import environment
from perfproof.run.processes.trial_process import arm_variables, build_environment
from perfproof.run.servers.bench_client import client_environment
from perfproof.run.servers.launch_spec import server_environment
from tests import toy


def test_only_listed_variables_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is not on the list is not recorded, whatever it is called; listed values are scrubbed."""
    monkeypatch.setenv("HOME", "/home/joe")
    given = {
        "VLLM_PLUGINS": "a,b",
        "VLLM_API_KEY": "secret",
        "HF_TOKEN": "hf_x",
        "HOME": "/home/joe",
        "OMP_PLACES": "/home/joe/x",
        "XDG_CACHE_HOME": "/c",
    }
    assert environment.kept(given) == {"VLLM_PLUGINS": "a,b", "OMP_PLACES": "~/x"}


def test_no_listed_name_looks_like_a_secret() -> None:
    """The list itself holds no name of a token, key, password or home folder."""
    for name in environment.RECORDED:
        assert not any(word in name for word in ("TOKEN_", "_TOKEN", "KEY", "SECRET", "PASS", "HOME", "CREDENTIAL")), name


def test_the_machine_is_described_without_a_name() -> None:
    """Processor, cores and memory are there; host name, user and home folder are not."""
    told = {**environment.machine(), **environment.moment()}
    assert told["cores"] >= 1
    assert told["memory_bytes"] > 0
    assert told["processor"]
    text = json.dumps(told)
    assert os.path.expanduser("~") not in text
    host, user = socket.gethostname(), getpass.getuser()
    assert len(host) < 4 or host not in text
    assert len(user) < 4 or user not in text


def test_a_kernel_is_recorded_by_its_numbers_alone() -> None:
    """Whoever built a kernel may have put a name behind its numbers; a release without numbers is left out."""
    assert environment.kernel("6.18.44-joe-custom.1") == "6.18.44"
    assert environment.kernel("5.15.0+") == "5.15.0"
    assert environment.kernel("generic") == ""


def test_an_arm_is_its_plugins_and_its_variables() -> None:
    """VLLM_PLUGINS holds the attestation, the arm's patches and the user's own plugins that the arm lists; other variables stay."""
    arm = toy.arm("patched", "one", "two", environment={"VLLM_PLUGINS": "theirs", "VLLM_BATCH_INVARIANT": "1"})
    said = arm_variables(arm, attest=Path("/a"), watch=["m:b", "m:a", "m:a"])
    assert said["VLLM_PLUGINS"] == "perfproof_attest,one,two,theirs"
    assert said["VLLM_BATCH_INVARIANT"] == "1"
    assert said["PERFPROOF_WATCH"] == "m:a m:b"
    assert "PERFPROOF_ALLOW_UNVERIFIED" not in said


def test_a_hubs_token_goes_to_what_may_load_a_hubs_model(toy_build: ReadyBuild, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers and clients of a model from a hub get it; microbenchmarks and processes of a model that is here do not."""
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789")
    workload = ServeWorkload(model="org/name", server_arguments=(), client={}, requests=1, warmups=0, launches="fresh")
    for offline in (True, False):
        server = server_environment(toy_build, toy.arm("plain"), workload, offline=offline, attests=Path("/a"), watch=())
        client = client_environment(toy_build, offline=offline)
        assert ("HF_TOKEN" in server, "HF_TOKEN" in client) == (not offline, not offline)
    assert "HF_TOKEN" not in build_environment(toy_build, threads=1)


def test_an_arms_own_folders_come_after_the_side_folder(toy_build: ReadyBuild) -> None:
    """An arm that brings a plugin of its own by `PYTHONPATH` does not take the attestation away."""
    arm = toy.arm("mine", environment={"PYTHONPATH": "/mine"})
    assert build_environment(toy_build, arm, threads=1)["PYTHONPATH"] == f"{toy_build.side}{os.pathsep}/mine"
    assert "PYTHONPATH" not in arm_variables(arm, attest=Path("/a"), watch=[])


def test_an_instruction_set_is_the_same_for_processors_that_can_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever order the kernel names it in, and however fast it is; another flag or maker is another one."""
    told = "vendor_id\t: GenuineIntel\ncpu MHz\t\t: {}\nflags\t\t: {}\n"

    def of(text: str) -> str:
        monkeypatch.setattr(environment, "_read", lambda path: text)
        return environment.instruction_set()

    one = of(told.format(2600, "fpu avx512f amx_tile"))
    assert one == of(told.format(3100, "amx_tile fpu avx512f"))
    assert (
        len({one, of(told.format(2600, "fpu avx512f")), of(told.format(2600, "fpu avx512f amx_tile").replace("Intel", "AMD")), of("")}) == 4
    )
