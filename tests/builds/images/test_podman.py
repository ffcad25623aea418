"""Containers of a real podman: an image of this Python, a program's channel and exit code, and nothing left of one that is ended.

Skipped where there is no podman that can run a container.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from perfproof.builds.images import image_digests, image_folder
from perfproof.builds.processes.supervised_process import Channel, inherited, run_to_end, start
from perfproof.model.scenarios.scenario import ImageBuild
from tests import container_image
from tests.builds.images.test_image_build import HANGS, wait_until

NAME = "localhost/perfproof-test:latest"
EMPTY, NOT_FOUND = "localhost/perfproof-empty:latest", 127
ECHO = "import os, json; r, w = map(int, os.environ['PERFPROOF_CHANNEL'].split(',')); [os.write(w, line) for line in os.fdopen(r, 'rb')]"


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The starter of an image that has this machine's Python and nothing else."""
    if why := why_not():
        pytest.skip(why)
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    container_image.make(base, NAME, "podman")
    builds = tmp_path_factory.mktemp("builds")
    build = ImageBuild(name="mine", image=NAME, runtime="podman", python="python3", digest=None)
    yield image_folder.write_starter(build, image_digests.found(build), builds / "image", builds)
    subprocess.run(["podman", "image", "rm", NAME], check=False, capture_output=True)


def why_not() -> str:
    """Why no container can be run here, seen on an empty image, in which no program is found; "" if one can."""
    if shutil.which("podman") is None:
        return "there is no podman here"
    nothing = io.BytesIO()
    with tarfile.open(fileobj=nothing, mode="w"):
        pass
    made = subprocess.run(["podman", "import", "-", EMPTY], input=nothing.getvalue(), capture_output=True, check=False)
    words = ["podman", "run", "--rm", "--network=host", EMPTY, "/nothing"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    subprocess.run(["podman", "image", "rm", EMPTY], check=False, capture_output=True)
    return "" if made.returncode == 0 and ran.returncode == NOT_FOUND else f"podman runs no container here: {ran.stderr.strip()[-200:]}"


def ours() -> list[str]:
    """The containers of ours that podman knows."""
    words = ["podman", "ps", "--all", "--filter", "label=perfproof.launcher", "--format", "{{.Names}}"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()


def test_a_program_runs_in_a_container(starter: Path, tmp_path: Path) -> None:
    """Output, exit codes, files and the channel come out as from an interpreter; at a time-out nothing is left."""
    log = tmp_path / "log"
    (tmp_path / "here.txt").write_text("outside")
    read = f"import os, sys; print(open({str(tmp_path / 'here.txt')!r}).read(), os.getpid() < 9, flush=True); sys.exit(int(sys.argv[2]))"
    done = run_to_end([starter, "-c", read, tmp_path / "here.txt", "7"], environment=inherited(), log=log, timeout=60)
    assert (done.code, done.tail()) == (7, "outside True")
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run_to_end([starter, "-c", killed], environment=inherited(), log=log, timeout=60).code == -9
    channel = Channel()
    with start([starter, "-c", ECHO], environment=inherited(), log=log, channel=channel) as running:
        channel.send({"to": "and fro"})
        assert channel.receive(30) == {"to": "and fro"}
        assert [process.name().startswith("python") for process in running.processes()] == [True]
        channel.close()
    assert run_to_end([starter, "-c", HANGS], environment=inherited(), log=log, timeout=2).code is None
    assert ours() == []


def test_nothing_is_left_of_a_launcher_that_is_killed(starter: Path, tmp_path: Path) -> None:
    """Neither the container nor a process inside it."""
    script = textwrap.dedent(
        f"""
        import time
        from pathlib import Path
        from perfproof.builds.processes.supervised_process import inherited, start
        running = start([{str(starter)!r}, "-c", {HANGS!r}], environment=inherited(), log=Path({str(tmp_path / "log")!r}))
        while len(running.processes()) < 2:
            time.sleep(0.05)
        print(*(process.pid for process in running.processes()), flush=True)
        time.sleep(600)
        """
    )
    launcher = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert launcher.stdout is not None
    inside = [psutil.Process(int(pid)) for pid in launcher.stdout.readline().split()]
    assert len(inside) == 2
    launcher.kill()
    launcher.wait()
    wait_until(lambda: not any(process.is_running() for process in inside))
    wait_until(lambda: ours() == [])
