"""Reading attestations, and every reason why a trial does not count."""

from __future__ import annotations

import dataclasses
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.records.record import Attestation
from perfproof.model.scenarios.scenario import Arm
from perfproof.patches import guard
from perfproof.patches.attestation_report import fingerprint
from perfproof.patches.guard import SLOT
from perfproof.run.processes import attestation
from tests import toy

SWAP = "vllm.v1.worker.batch:Batch.swap"
PATCH = {"direction": "adds", "verified": True, "faults": [], "targets": {SWAP: "0123456789abcdef"}}


def leave(folder: Path, build: ReadyBuild, pid: int, counts: dict[str, int] | None = None, **changes: Any) -> None:
    """Writes what one process says of itself."""
    said = {
        "pid": pid,
        "python": build.fingerprint.python,
        "vllm_file": str(build.fingerprint.package / "__init__.py"),
        "vllm_version": build.fingerprint.vllm_version,
        "torch_version": build.fingerprint.torch_version,
        "patches": {},
        "refused": {},
        "unwatchable": [],
    }
    folder.mkdir(exist_ok=True)
    (folder / f"{pid}.json").write_text(json.dumps({**said, **changes}))
    slots = [name.encode()[: SLOT - 9].ljust(SLOT - 8, b"\0") + struct.pack("<Q", count) for name, count in (counts or {}).items()]
    (folder / f"{pid}.counts").write_bytes(b"".join(slots).ljust(SLOT * 256, b"\0"))


def read(folder: Path, build: ReadyBuild, arm: Arm | None = None) -> Attestation:
    found = attestation.read(folder, build, arm or toy.arm("plain"))
    assert found is not None
    return found


def test_processes_are_folded_into_one(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """Counts are summed over the processes, patches counted if all applied them, the path of vLLM told from the build's folder."""
    leave(tmp_path / "a", toy_build, 11, {f"calls {SWAP}": 5, "fast toy_patch": 2}, patches={"toy_patch": PATCH})
    leave(tmp_path / "a", toy_build, 12, {f"calls {SWAP}": 7}, patches={"toy_patch": PATCH}, torch_version=None)
    found = read(tmp_path / "a", toy_build)
    assert found.processes == 2
    assert found.counts == {f"calls {SWAP}": 12, "fast toy_patch": 2}
    assert list(found.patches) == ["toy_patch"]
    assert found.vllm_file == "vllm/__init__.py"
    assert found.torch_version == toy_build.fingerprint.torch_version
    assert found.sources == toy_build.fingerprint.sources
    assert attestation.verify(found, toy.arm("patched", "toy_patch"), toy_build) == ""


def test_the_runner_is_known_by_its_calls(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """The calls counted in a model runner show which one executed the model; none if no runner took part."""
    leave(tmp_path / "v1", toy_build, 1, {f"calls {attestation.RUNNERS['V1']}": 3, f"calls {attestation.RUNNERS['V2']}": 0})
    leave(tmp_path / "none", toy_build, 1)
    assert read(tmp_path / "v1", toy_build).runner == "V1"
    assert read(tmp_path / "none", toy_build).runner == ""


def test_silence_is_no_proof(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """Where no process attested, the trial is unattested, with what vLLM's log says of it."""
    assert attestation.read(tmp_path, toy_build, toy.arm("plain")) is None
    log = (
        "ERROR 11-27 [__init__.py:76] Failed to load plugin perfproof_attest\nTraceback (most recent call last):\nImportError: no module\n"
    )
    told = attestation.verify(None, toy.arm("plain"), toy_build, log)
    assert told == "no process attested what it ran: the plugin perfproof_attest was not loaded: ImportError: no module"


def test_a_patch_that_some_processes_lack_is_reported(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """A server of which one process runs unpatched does not count."""
    leave(tmp_path / "a", toy_build, 1, {f"calls {SWAP}": 5}, patches={"toy_patch": PATCH})
    leave(tmp_path / "a", toy_build, 2)
    told = attestation.verify(read(tmp_path / "a", toy_build), toy.arm("patched", "toy_patch"), toy_build)
    assert told == "1 of 2 processes run without patch toy_patch"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"vllm_file": "/elsewhere/site-packages/vllm/__init__.py"},
            "vLLM was loaded from elsewhere/vllm/__init__.py, not from the build's own",
        ),
        ({"vllm_version": "0.31.0"}, "the processes ran vLLM 0.31.0, the build has 0.32.0"),
        ({"python": "3.9.1"}, "the processes ran Python 3.9.1"),
        ({"torch_version": "1.0"}, "the processes ran PyTorch 1.0"),
        ({"patches": {"other": PATCH}}, "patch other was applied, which the arm does not name"),
    ],
)
def test_other_code_than_the_arm_s_is_reported(toy_build: ReadyBuild, tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    """Another vLLM, another version, Python or PyTorch, a patch that nobody asked for: each is named."""
    leave(tmp_path / "a", toy_build, 1, **changes)
    assert words in attestation.verify(read(tmp_path / "a", toy_build), toy.arm("plain"), toy_build)


def test_the_path_of_another_vllm_names_no_home(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """Of a path outside the build only the end is kept: the rest may name a person."""
    leave(tmp_path / "a", toy_build, 1, vllm_file="/home/joe/src/vllm/__init__.py")
    assert "joe" not in json.dumps(dataclasses.asdict(read(tmp_path / "a", toy_build)))


@pytest.mark.parametrize(
    ("arm", "patches", "refused", "words"),
    [
        (toy.arm("patched", "toy_patch"), {}, {}, "patch toy_patch was not applied: its plugin failed to import"),
        (
            toy.arm("patched", "toy_patch"),
            {},
            {"toy_patch": "patch toy_patch refused: this is 0.1"},
            "patch toy_patch refused: this is 0.1",
        ),
        (toy.arm("patched", "toy_patch"), {"toy_patch": {**PATCH, "verified": False}}, {}, "runs where it was not tested"),
        (toy.arm("patched", "toy_patch"), {"toy_patch": PATCH}, {}, "the function that patch toy_patch replaces was never called"),
    ],
)
def test_a_patch_that_proves_nothing_is_reported(
    toy_build: ReadyBuild, tmp_path: Path, arm: Any, patches: dict[str, Any], refused: dict[str, str], words: str
) -> None:
    """A patch not applied, refused, untested or never called: the reason is reported in words."""
    leave(tmp_path / "a", toy_build, 1, {f"calls {SWAP}": 0}, patches=patches, refused=refused)
    assert words in attestation.verify(read(tmp_path / "a", toy_build), arm, toy_build)


def test_what_is_to_be_exercised_must_be_called(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """Of the functions that a workload exercises at least one must have been called, in the unpatched arm too."""
    leave(tmp_path / "a", toy_build, 1, {"calls m:a": 0, "calls m:b": 1})
    found = read(tmp_path / "a", toy_build)
    assert attestation.verify(found, toy.arm("plain"), toy_build, exercises=("m:a", "m:b")) == ""
    assert "never called (m:a)" in attestation.verify(found, toy.arm("plain"), toy_build, exercises=("m:a",))


def test_a_long_name_is_counted_all_the_same(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """A target whose name does not fit its slot is still found."""
    target = "vllm." + "x" * 200 + ":f"
    leave(tmp_path / "a", toy_build, 1, {f"calls {target}": 3})
    assert attestation.verify(read(tmp_path / "a", toy_build), toy.arm("plain"), toy_build, exercises=(target,)) == ""


def test_the_room_for_counts_is_taken_from_the_disk_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up later ends no process at its first count: the file has no holes."""
    monkeypatch.setenv("PERFPROOF_ATTEST", str(tmp_path))
    guard.Attestation()
    (file,) = tmp_path.glob("*.counts")
    assert file.stat().st_blocks * 512 >= file.stat().st_size == SLOT * guard.SLOTS


# --- plugins and variables of an arm's own ---------------------------------------------------------------------

GENERAL = "general_plugins"


def own(**environment: str) -> Arm:
    return toy.arm("plain", environment=environment)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({GENERAL: True}, {GENERAL: True}, ""),
        ({GENERAL: True}, {GENERAL: False}, "plugin theirs was not loaded in 1 of 2 processes"),
        ({GENERAL: True}, {}, "plugin theirs was not loaded in 1 of 2 processes"),
        ({}, {}, "plugin theirs was not loaded: no package that is installed there, or on the arm's PYTHONPATH, has a plugin of that name"),
        ({"stat_logger_plugins": True}, {"stat_logger_plugins": False}, ""),
        ({"endpoint_plugins": False}, {"endpoint_plugins": False}, "plugin theirs was not loaded in any process"),
        ({"platform_plugins": True, "endpoint_plugins": False}, {"platform_plugins": True, "endpoint_plugins": True}, ""),
    ],
)
def test_a_plugin_must_be_shown_to_have_been_loaded(
    toy_build: ReadyBuild, tmp_path: Path, first: dict[str, bool], second: dict[str, bool], words: str
) -> None:
    """One that nobody has installed, or that a process lacks, makes the trial unattested; those for one process are shown by one."""
    arm = own(VLLM_PLUGINS="theirs")
    variables = {"VLLM_PLUGINS": fingerprint("perfproof_attest,theirs")}
    leave(tmp_path / "a", toy_build, 1, plugins={"theirs": first}, variables=variables)
    leave(tmp_path / "a", toy_build, 2, plugins={"theirs": second}, variables=variables)
    found = read(tmp_path / "a", toy_build, arm)
    assert attestation.verify(found, arm, toy_build) == words
    assert found.plugins == {"theirs": words}


def test_a_process_that_says_nothing_of_plugins_shows_none(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """An attestation without a word of the arm's plugins or variables is no proof of them."""
    leave(tmp_path / "a", toy_build, 1)
    arm = own(VLLM_PLUGINS="theirs", VLLM_X="1")
    assert "theirs was not loaded" in attestation.verify(read(tmp_path / "a", toy_build, arm), arm, toy_build)
    assert attestation.verify(read(tmp_path / "a", toy_build), toy.arm("plain"), toy_build) == ""


@pytest.mark.parametrize(
    ("name", "want", "have", "shown"),
    [
        ("VLLM_X", "1", ("1", "1"), True),
        ("VLLM_X", "1", ("1", "0"), False),
        ("VLLM_X", "1", ("1", None), False),
        ("VLLM_X", "", ("", ""), True),
        ("VLLM_X", "a:b", ("a:b", "a,b"), False),
        ("LD_PRELOAD", "/x.so", ("/x.so", "/x.so:/omp.so"), True),
        ("LD_PRELOAD", "/x.so", ("/x.so", "/omp.so"), False),
        ("CUDA_VISIBLE_DEVICES", "0,1", ("0,1", "1"), True),
        ("CUDA_VISIBLE_DEVICES", "0,1", ("0,1", "2"), False),
    ],
)
def test_a_variable_must_be_there_in_every_process(
    toy_build: ReadyBuild, tmp_path: Path, name: str, want: str, have: tuple[str | None, ...], shown: bool
) -> None:
    """Lost, or of another value, in one process: reported; lists that vLLM adds to, or takes a worker's part of, may differ so."""
    arm = own(**{name: want})
    for pid, value in enumerate(have):
        leave(tmp_path / "a", toy_build, pid, variables={name: [] if value is None else fingerprint(value)})
    told = attestation.verify(read(tmp_path / "a", toy_build, arm), arm, toy_build)
    assert told == ("" if shown else f"variable {name} has another value than the arm's in 1 of 2 processes")


@given(st.text(st.characters(blacklist_characters="\0"), max_size=30), st.text(st.characters(blacklist_characters="\0"), max_size=30))
def test_values_have_equal_fingerprints_only_if_they_are_equal(one: str, other: str) -> None:
    """Any text has a fingerprint, and none is another's."""
    assert (fingerprint(one) == fingerprint(other)) is (one == other)


def test_a_variable_that_the_release_does_not_know_is_reported(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """A misspelt variable for vLLM does not spoil the trial, and is reported with it."""
    arm = own(VLLM_ATENTION="x")
    leave(tmp_path / "a", toy_build, 1, variables={"VLLM_ATENTION": fingerprint("x")}, unknown=["VLLM_ATENTION"])
    found = read(tmp_path / "a", toy_build, arm)
    assert attestation.verify(found, arm, toy_build) == ""
    assert attestation.notes(found) == ["VLLM_ATENTION: this release of vLLM knows no variable of that name, and may not read it"]
    assert attestation.notes(None) == []


def test_workers_are_the_processes_that_executed_steps(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """One number each, the most first; an API server, which executes none, is no worker."""
    calls = {f"calls {attestation.RUNNERS['V1']}": 7}, {f"calls {attestation.RUNNERS['V2']}": 9, "calls x:y": 100}, {"calls x:y": 3}, {}
    assert attestation.workers_of(calls) == [9, 7]
    assert attestation.runner_of(calls[0]) == "V1"


@pytest.mark.parametrize(
    ("workers", "wanted", "fault"), [((5,), 1, False), ((5, 5), 2, False), ((5,), 2, True), ((5, 5, 5), 2, True), ((), 2, False)]
)
def test_each_worker_must_show_that_it_computed(
    toy_build: ReadyBuild, tmp_path: Path, workers: tuple[int, ...], wanted: int, fault: bool
) -> None:
    """Of two workers one that attests no step is told; where no model runner took part, nothing can be."""
    leave(tmp_path / "a", toy_build, 1)
    attested = read(tmp_path / "a", toy_build)
    assert attested is not None
    told = attestation.worker_fault(dataclasses.replace(attested, workers=list(workers)), wanted)
    assert told == (f"{wanted} workers were to compute, and {len(workers)} executed steps of the model" if fault else "")
