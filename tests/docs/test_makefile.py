"""`make bench`: what it would install, and what it runs, in a clone and with the environment that a bundle brought."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from perfproof.builds.bundle import INSTALL

ROOT = Path(__file__).resolve().parents[2]
OLD, NEW = 1_000_000_000, 1_100_000_000
"""Moments, in seconds: of what was there before, and of what changed since."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What the Makefile looks at, all of it old."""
    for name in ("Makefile", "pyproject.toml", "tests/overrides.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
        os.utime(tmp_path / name, (OLD, OLD))
    return tmp_path


def environment(folder: Path, mark: str | None) -> Path:
    """A stand-in for an installed suite, whose `perfproof` says what it was asked and which python3 it finds; `mark` is its `.ready`."""
    (folder / "bin").mkdir(parents=True)
    for name, script in {"perfproof": 'echo "$@"; command -v python3', "python": "", "python3": ""}.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bin" / name).chmod(0o755)
    if mark is not None:
        (folder / ".ready").write_text(mark)
        os.utime(folder / ".ready", (OLD, OLD))
    return folder


def make(clone: Path, *words: str) -> str:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "VENV", "SCENARIOS"))}
    return subprocess.run(["make", *words], cwd=clone, env=variables, capture_output=True, text=True, check=True).stdout


def test_bench_names_no_scenarios_unless_they_are_asked_for(clone: Path) -> None:
    """So the main ones of the machine are measured; SCENARIOS names others."""
    environment(clone / ".venv", "")
    assert make(clone, "bench").startswith("run --profile quick --results results/local --report reports/report.html\n")
    assert make(clone, "bench", "SCENARIOS=a.yaml b.yaml", "PROFILE=standard").startswith("run a.yaml b.yaml --profile standard ")


def test_a_clone_installs_what_changed(clone: Path) -> None:
    """The suite is installed where it never was, and again where pyproject.toml is newer than that; else not. PATH stays as it is."""
    assert "pip install" in make(clone, "-n", "bench")
    venv = environment(clone / ".venv", "")
    assert "pip install" not in make(clone, "-n", "bench")
    assert str(venv) not in make(clone, "bench")
    os.utime(clone / "pyproject.toml", (NEW, NEW))
    assert "pip install" in make(clone, "-n", "bench")


@pytest.mark.parametrize("newer", [False, True])
def test_what_a_bundle_brought_is_taken_as_it_is(clone: Path, newer: bool) -> None:
    """With VENV at a bundle's environment nothing is installed, whatever is newer than its mark, and its python3 is first on PATH."""
    env = environment(clone / "bundle" / "env", "made by a bundle\n")
    if newer:
        os.utime(clone / "pyproject.toml", (NEW, NEW))
    assert "pip" not in make(clone, "-n", "bench", "VENV=bundle/env")
    for said in ("bundle/env", str(env)):
        assert make(clone, "bench", f"VENV={said}").splitlines()[-1] == str(env / "bin" / "python3")


def test_install_sh_leaves_the_mark_that_the_makefile_looks_at() -> None:
    """The mark comes last, once everything is installed, and holds words: a clone's own is empty."""
    lines = INSTALL.splitlines()
    marking = next(line for line in lines if line.endswith("> env/.ready"))
    assert marking.startswith('echo "made by')
    assert lines.index(marking) > max(number for number, line in enumerate(lines) if "pip install" in line)


def made_in(venv: Path, other: Path) -> None:
    """Has the environment's command start the interpreter of another folder."""
    (venv / "bin" / "perfproof").write_text(f"#!{other}/bin/python\n")


def test_an_environment_that_was_moved_or_copied_with_its_checkout_is_made_again(clone: Path) -> None:
    """Its command would start nothing, or the suite of the checkout that it was copied from; one that lies where it was made stays."""
    venv = environment(clone / ".venv", "")
    made_in(venv, venv)
    assert "pip install" not in make(clone, "-n", "bench")
    made_in(venv, clone / "gone" / ".venv")
    told = make(clone, "-n", "bench")
    assert f".venv was made in {clone}/gone/.venv and moved or copied here: made again" in told
    assert "pip install" in told
    made_in(venv, environment(clone / "other" / ".venv", ""))
    assert "made again" in make(clone, "-n", "bench")


def test_a_bundles_environment_that_was_moved_says_what_to_do(clone: Path) -> None:
    """Nothing can be installed there but by the bundle itself."""
    made_in(environment(clone / "env", "made by a bundle"), clone / "gone" / "env")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        make(clone, "bench", "VENV=env")
    assert f"env was made in {clone}/gone/env and moved or copied: run the bundle's install.sh again" in caught.value.stderr
