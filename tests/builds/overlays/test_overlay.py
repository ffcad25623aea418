"""Overlays: another build with some of vLLM's Python changed, in seconds and without a copy, seen by every process."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from perfproof.builds.install import integrity
from perfproof.builds.install.interpreter_probe import hash_sources
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.overlays import overlay
from perfproof.builds.prepare import COMPLETE, prepare
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.scenarios.scenario import Build, DefiningFile, OverlayBuild, PythonBuild
from perfproof.run.checks import identical_arms
from perfproof.run.processes import attestation
from perfproof.run.processes.trial_process import build_environment
from perfproof.runners import build_faults
from tests import toy
from tests.builds.overlays.test_unified_diff import GIT_NEW, unified

INIT = (toy.FAKES / "vllm" / "__init__.py").read_text()
BATCH = (toy.FAKES / "vllm" / "v1" / "worker" / "batch.py").read_text()
CHANGED = BATCH + "\nEXTRA = 7\n"
CHANGE = unified(BATCH, CHANGED, "a/vllm/v1/worker/batch.py", "b/vllm/v1/worker/batch.py")
Lay = Callable[..., ReadyBuild]


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> tuple[PythonBuild, Path]:
    """An interpreter with the stand-in for vLLM, and a package folder."""
    folder = tmp_path_factory.mktemp("overlays")
    return PythonBuild(name="mine", path=str(toy.interpreter(folder / "venv"))), toy.package(folder / "perfproof")


@pytest.fixture
def lay(toys: tuple[PythonBuild, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lay:
    """Makes an overlay of a diff on the stand-in, or on another build."""
    toy.seen_once(monkeypatch)

    def run(diff: str, base: PythonBuild | OverlayBuild | None = None, say: Callable[[str], None] = lambda _: None) -> ReadyBuild:
        return prepare(of(diff, tmp_path, base or toys[0]), tmp_path / "builds", say, toys[1])

    return run


def of(diff: str, folder: Path, base: Build, name: str = "changed") -> OverlayBuild:
    digest = hashlib.sha256(diff.encode()).hexdigest()
    path = folder / f"{digest[:8]}.diff"
    path.write_text(diff)
    return OverlayBuild(name=name, base=base, diff=DefiningFile(path=str(path), sha256=digest), git=None)


def told(build: ReadyBuild, code: str, **more: str) -> str:
    """What a program of that build prints, in the environment of its trials."""
    environment = {**build_environment(build, threads=1), **more}
    done = subprocess.run([build.interpreter, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


# --- what is made --------------------------------------------------------------------------------------------


def test_the_changed_files_are_real_and_the_others_links(lay: Lay, toys: tuple[PythonBuild, Path]) -> None:
    """Nothing is copied but what the diff changes; the base stays as it is."""
    base = Path(toys[0].path).parents[1]
    before = hash_sources(next(base.glob("lib/*/site-packages/vllm")))
    ready = lay(CHANGE)
    real = [file for file in ready.fingerprint.package.rglob("*") if file.is_file() and not file.is_symlink()]
    assert [file.name for file in real] == ["batch.py"]
    assert real[0].read_text() == CHANGED
    assert hash_sources(next(base.glob("lib/*/site-packages/vllm"))) == before
    assert ready.fingerprint.files == before[1]
    assert ready.fingerprint.sources != before[0]
    assert (ready.folder / COMPLETE).is_file()


def test_every_process_takes_its_vllm_from_the_overlay(lay: Lay) -> None:
    """The interpreter, its children and theirs import the overlay's vLLM; the distribution's version is the base's."""
    ready = lay(CHANGE)
    code = "import vllm, vllm.v1.worker.batch as b; print(vllm.__file__, b.EXTRA, vllm.__version__)"
    expected = f"{ready.fingerprint.package / '__init__.py'} 7 {ready.fingerprint.vllm_version}"
    assert told(ready, code) == expected
    spawned = f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', {code!r}], capture_output=True, text=True).stdout)"
    assert told(ready, spawned) == expected
    start = f"import multiprocessing as m\ndef f():\n exec({code!r})\nif __name__ == '__main__':\n"
    script = ready.folder.parent / "spawn.py"
    script.write_text(start + " p = m.get_context('spawn').Process(target=f); p.start(); p.join()\n")
    done = subprocess.run([ready.interpreter, script], env=build_environment(ready, threads=1), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected


@pytest.mark.parametrize("line", ["import os; A = os.environ.get('PERFPROOF_ATTEST')", "from perfproof.patches.guard import counter"])
def test_a_change_that_speaks_of_perfproof_is_reported(lay: Lay, line: str) -> None:
    """A change could know that it is measured, and count calls of its own: whoever reads a trial is told to read the change."""
    knowing = unified(BATCH, f"{BATCH}\n{line}\n", "a/vllm/v1/worker/batch.py", "b/vllm/v1/worker/batch.py")
    plain = lay(CHANGE).warnings
    assert [one for one in lay(knowing).warnings if one not in plain] == [
        f"{lay(knowing).label}: the change mentions perfproof: it may behave differently while it is measured; read it"
    ]


def test_new_and_deleted_files_are_there_and_gone(lay: Lay) -> None:
    """A file that the diff makes can be imported, one that it deletes can't, and the folder of the last one goes too."""
    utils = (toy.FAKES / "vllm" / "utils" / "argparse_utils.py").read_text()
    inside = (toy.FAKES / "vllm" / "utils" / "__init__.py").read_text()
    gone = "diff --git a/{p} b/{p}\ndeleted file mode 100644\nindex 1111111..0000000\n"
    diff = GIT_NEW + gone.format(p="vllm/utils/argparse_utils.py") + (unified(utils, "", "a/vllm/utils/argparse_utils.py", "/dev/null"))
    ready = lay(diff)
    assert told(ready, "import vllm.new; print(vllm.new.A)") == "1"
    assert not (ready.fingerprint.package / "utils" / "argparse_utils.py").exists()
    diff += gone.format(p="vllm/utils/__init__.py") + (unified(inside, "", "a/vllm/utils/__init__.py", "/dev/null") if inside else "")
    assert not (lay(diff).fingerprint.package / "utils").exists()
    assert ready.touched is not None
    assert ready.touched.files == ("vllm/new.py", "vllm/utils/argparse_utils.py")


def test_package_data_and_libraries_beside_the_package_are_found(lay: Lay, toys: tuple[PythonBuild, Path]) -> None:
    """What is no Python is linked, and so are the libraries that a wheel keeps beside its package."""
    packages = next(Path(toys[0].path).parents[1].glob("lib/*/site-packages"))
    (packages / "vllm" / "data.json").write_text("{}")
    (packages / "vllm.libs").mkdir()
    (packages / "vllm.libs" / "libx.so").write_text("x")
    try:
        ready = lay(CHANGE)
        assert (ready.fingerprint.package / "data.json").read_text() == "{}"
        assert (ready.fingerprint.package.parent / "vllm.libs" / "libx.so").read_text() == "x"
    finally:
        (packages / "vllm" / "data.json").unlink()
        (packages / "vllm.libs" / "libx.so").unlink()
        (packages / "vllm.libs").rmdir()


def test_what_python_compiled_is_taken_over_and_nothing_is_written_to_the_base(lay: Lay, toys: tuple[PythonBuild, Path]) -> None:
    """Compiled files of the base are linked; what a process compiles lies in the overlay, even where the base may be written to."""
    package = next(Path(toys[0].path).parents[1].glob("lib/*/site-packages/vllm"))
    tag = sys.implementation.cache_tag
    subprocess.run([toys[0].path, "-m", "compileall", "-q", package / "v1"], check=True)
    before = {file: file.stat().st_mtime_ns for file in package.rglob("*.pyc")}
    ready = lay(CHANGE)
    compiled = ready.fingerprint.package / "v1" / "worker" / "__pycache__"
    assert (compiled / f"__init__.{tag}.pyc").is_symlink()
    assert not (compiled / f"batch.{tag}.pyc").exists()
    told(dataclasses.replace(ready, ours=True), "import vllm.v1.worker.batch")
    assert (compiled / f"batch.{tag}.pyc").is_file()
    assert {file: file.stat().st_mtime_ns for file in package.rglob("*.pyc")} == before


def test_an_overlay_stands_on_an_overlay(lay: Lay, tmp_path: Path, toys: tuple[PythonBuild, Path]) -> None:
    """A second diff is applied to what the first one left, and the first overlay is not changed by it."""
    first = of(CHANGE, tmp_path, toys[0])
    more = unified(CHANGED, CHANGED.replace("EXTRA = 7", "EXTRA = 8"), "a/vllm/v1/worker/batch.py", "b/vllm/v1/worker/batch.py")
    code = "import vllm.v1.worker.batch as b; print(b.EXTRA)"
    assert told(lay(more, first), code) == "8"
    assert told(lay(CHANGE), code) == "7"
    assert f"{first.diff and first.diff.name}" in lay(more, first).label


def test_an_overlay_is_made_once_and_again_where_anything_changed(lay: Lay, toys: tuple[PythonBuild, Path]) -> None:
    """One that is whole is taken as it is; an edit of its files, of its base's files, or of the diff makes another one."""
    first = lay(CHANGE)
    stamp = (first.folder / COMPLETE).stat().st_mtime_ns
    assert lay(CHANGE).id == first.id
    assert (first.folder / COMPLETE).stat().st_mtime_ns == stamp
    (first.fingerprint.package / "v1" / "worker" / "batch.py").write_text("broken")
    again = lay(CHANGE)
    assert again.fingerprint == first.fingerprint
    assert lay(CHANGE.replace("EXTRA = 7", "EXTRA = 9")).id != first.id
    envs = next(Path(toys[0].path).parents[1].glob("lib/*/site-packages/vllm")) / "envs.py"
    envs.write_text("A = 1\n")
    try:
        other = lay(CHANGE)
        assert other.id != first.id
        assert told(other, "import vllm.envs as e; print(e.A)") == "1"
    finally:
        envs.unlink()


def test_what_is_half_made_is_made_again(lay: Lay) -> None:
    """A folder without its last file counts for nothing, and no draft is left behind."""
    first = lay(CHANGE)
    (first.folder / COMPLETE).unlink()
    assert lay(CHANGE).fingerprint == first.fingerprint
    assert not list(first.folder.parent.glob(".overlay-*"))


def test_two_runs_make_one_overlay(lay: Lay) -> None:
    """Whoever comes second waits and finds it made."""
    made: list[ReadyBuild] = []
    threads = [threading.Thread(target=lambda: made.append(lay(CHANGE))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one.id for one in made}) == 1
    assert sum(bool(one.seconds) and "overlay" in one.seconds for one in made) == 1


def test_a_deleted_overlay_or_base_is_reported(lay: Lay, toys: tuple[PythonBuild, Path]) -> None:
    """A build that is deleted under a running scenario is seen, whichever of the two it was."""
    ready = lay(CHANGE)
    assert integrity.lost(ready) == ""
    package = next(Path(toys[0].path).parents[1].glob("lib/*/site-packages/vllm"))
    package.rename(package.with_name("away"))
    try:
        assert "its vLLM is gone" in integrity.lost(ready)
    finally:
        package.with_name("away").rename(package)
    (ready.fingerprint.package / "__init__.py").unlink()
    assert "its vLLM is gone" in integrity.lost(ready)


def test_a_record_gets_what_the_overlay_touched(lay: Lay) -> None:
    """The touched files, a hash over them alone, and the base are known; another content has another hash."""
    one, other = lay(CHANGE).touched, lay(CHANGE.replace("EXTRA = 7", "EXTRA = 9")).touched
    assert one is not None
    assert other is not None
    assert one.files == other.files == ("vllm/v1/worker/batch.py",)
    assert one.sources != other.sources
    assert one.base.startswith("python ")


def test_the_full_disk_is_told_and_leaves_nothing(lay: Lay, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A disk that fills up half-way ends in words, and nothing half made stays."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "batch.py")

    monkeypatch.setattr(overlay, "write", full)
    with pytest.raises(CannotRun, match="make room"):
        lay(CHANGE)
    assert not [path for path in (tmp_path / "builds").iterdir() if "overlay" in path.name]


# --- what is refused -----------------------------------------------------------------------------------------


def test_a_change_that_is_no_python_afterwards_is_refused(lay: Lay) -> None:
    """A diff that leaves a file that can't be compiled names it and the line, before anything runs."""
    broken = unified(BATCH, BATCH + "\ndef f(:\n", "a/vllm/v1/worker/batch.py", "b/vllm/v1/worker/batch.py")
    with pytest.raises(BadInput, match=r"vllm/v1/worker/batch.py is not valid Python: line \d+"):
        lay(broken)


def test_a_change_that_changes_nothing_is_refused(lay: Lay) -> None:
    """A diff whose last commit takes back its first leaves the base as it is, which is no build of its own."""
    back = unified(CHANGED, BATCH, "a/vllm/v1/worker/batch.py", "b/vllm/v1/worker/batch.py")
    with pytest.raises(BadInput, match="changes no file of"):
        lay(CHANGE + back)


def test_a_diff_that_changed_since_it_was_read_is_refused(tmp_path: Path, toys: tuple[PythonBuild, Path]) -> None:
    """The text that identifies the build is the one that is applied."""
    build = of(CHANGE, tmp_path, toys[0])
    assert build.diff is not None
    Path(build.diff.path).write_text(CHANGE + "\n")
    with pytest.raises(BadInput, match="changed after the scenario was read"):
        prepare(build, tmp_path / "builds", lambda _: None, toys[1])
    Path(build.diff.path).unlink()
    assert "No such file" in build_faults(build)[0]


def test_what_is_wrong_with_a_diff_is_reported_before_anything_is_made(tmp_path: Path) -> None:
    """A base that is not there and a diff that an overlay can't take are told together, before any build."""
    outside = of(unified("a\n", "b\n", "a/csrc/x.cu", "b/csrc/x.cu"), tmp_path, PythonBuild(name="none", path="/no/python"))
    told = build_faults(outside)
    assert "there is no such file" in told[0]
    assert "csrc/x.cu" in told[1]
    assert not (tmp_path / "builds").exists()


def test_an_overlay_writes_nowhere_else(lay: Lay, tmp_path: Path, toys: tuple[PythonBuild, Path]) -> None:
    """A folder of the base that is a link does not lead a change out of the overlay: the change is refused."""
    package = next(Path(toys[0].path).parents[1].glob("lib/*/site-packages/vllm"))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.py").write_text("A = 1\n")
    (package / "linked").symlink_to(outside, target_is_directory=True)
    try:
        with pytest.raises(BadInput, match="one of its folders is a link"):
            lay(unified("A = 1\n", "A = 2\n", "a/vllm/linked/x.py", "b/vllm/linked/x.py"))
    finally:
        (package / "linked").unlink()
    assert (outside / "x.py").read_text() == "A = 1\n"
    assert os.listdir(outside) == ["x.py"]


def test_what_is_kept_names_nobody(lay: Lay) -> None:
    """The last file of an overlay holds its fingerprint, like that of every build."""
    ready = lay(CHANGE)
    kept = json.loads((ready.folder / COMPLETE).read_text())
    assert kept["fingerprint"]["sources"] == ready.fingerprint.sources
    assert (ready.folder / "change.diff").read_text() == CHANGE


# --- what a trial attests ------------------------------------------------------------------------------------


def test_a_process_that_takes_its_vllm_from_elsewhere_makes_the_trial_untestable(lay: Lay, tmp_path: Path) -> None:
    """Where a child lost the overlay (another PYTHONPATH), its `vllm.__file__` is the base's, and the trial does not count."""
    ready = lay(CHANGE)
    for name, lose in (("kept", ""), ("lost", "os.environ['PYTHONPATH'] = os.environ['PYTHONPATH'].split(os.pathsep)[1]; ")):
        attests = tmp_path / name
        child = "from perfproof.patches.guard import attest; import torch; attest()"
        code = f"import os, subprocess, sys; {child}; {lose}subprocess.run([sys.executable, '-c', {child!r}], check=True)"
        told(ready, code, PERFPROOF_ATTEST=str(attests))
        found = attestation.read(attests, ready, toy.arm("changed"))
        reason = attestation.verify(found, toy.arm("changed"), ready)
        assert found is not None
        assert found.processes == 2
        assert found.sources == ready.fingerprint.sources
        assert (reason == "") is not bool(lose)
    assert "vLLM was loaded from elsewhere/vllm/__init__.py and site/vllm/__init__.py, not from the build's own" in reason


def test_arms_that_run_the_same_code_are_refused(lay: Lay, toys: tuple[PythonBuild, Path], tmp_path: Path) -> None:
    """Equal hashes, patches, environment and arguments are no comparison, whatever the builds are called; a difference in any is one."""
    here, again = of(CHANGE, tmp_path, toys[0], "here"), of(CHANGE + "\n", tmp_path, toys[0], "again")
    ready = {here.key: lay(CHANGE), again.key: lay(CHANGE + "\n")}
    assert here.key != again.key
    scenario = toy.scenario(Path(toys[0].path))
    arms = tuple(dataclasses.replace(toy.arm(name), build=build) for name, build in (("one", "here"), ("other", "again")))
    same = dataclasses.replace(scenario, builds={"here": here, "again": again}, arms=arms)
    (fault,) = identical_arms.faults(same, ready)
    assert "arms one and other: both arms run the same code: vLLM's files have the hash" in fault
    assert fault.endswith(f"calibrate measures one arm against itself: perfproof calibrate {same.source} --profile {same.profile}")
    assert not identical_arms.faults(same, {})
    twice = dataclasses.replace(same, arms=(arms[0], dataclasses.replace(arms[1], build="here")))
    assert "the build" in identical_arms.faults(twice, {})[0]
    for change in ({"patches": ("toy_patch",)}, {"environment": {"A": "1"}}, {"server_arguments": ("--x",)}, {"client": {"x": 1}}):
        assert not identical_arms.faults(dataclasses.replace(same, arms=(arms[0], dataclasses.replace(arms[1], **change))), ready)
