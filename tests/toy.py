"""A stand-in for an interpreter with vLLM, and a package folder with toy benchmarks and patches.

`interpreter` makes what looks like a virtual environment with vLLM 0.32.0 in a few milliseconds; `package` makes
a folder like `suite/perfproof/` whose benchmarks and patches are those of `tests/fakes`.
"""

from __future__ import annotations

import hashlib
import inspect
import shutil
import textwrap
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from perfproof.builds.install import interpreter_probe
from perfproof.builds.install.side_folder import PACKAGE
from perfproof.builds.processes.supervised_process import Finished
from perfproof.model.kinds.micro import MicroWorkload
from perfproof.model.scenarios.scenario import Arm, PythonBuild, Scenario
from perfproof.run.checks.catalog import Bench
from tests.toy_interpreter import FAKES as FAKES
from tests.toy_interpreter import interpreter as interpreter

NOT_ALONE: Mapping[str, str] = {"OMP_WAIT_POLICY": "PASSIVE"}
"""For arms of a real vLLM: its threads wait for one another without spinning, since other tests want the cores too."""


_look, _seen = interpreter_probe.look, dict[tuple[Path, Path | None], interpreter_probe.Look | Finished]()


def seen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that change nothing of an interpreter once it was used: each is looked at once, for every look starts it."""

    def look(interpreter: Path, log: Path, *, tools: Path | None = None) -> interpreter_probe.Look | Finished:
        if (interpreter, tools) not in _seen:
            _seen[interpreter, tools] = _look(interpreter, log, tools=tools)
        return _seen[interpreter, tools]

    monkeypatch.setattr(interpreter_probe, "look", look)


def package(folder: Path) -> Path:
    """Makes a folder like `suite/perfproof/` with the suite's own guard and children, and toy benchmarks and patches."""
    shutil.copytree(PACKAGE / "child", folder / "child")
    for room, keep in (
        ("bench", ("__init__.py", "conftest.py")),
        ("patches", ("__init__.py", "guard.py", "attestation_report.py", "own_plugins.py")),
    ):
        (folder / room).mkdir(parents=True, exist_ok=True)
        for name in keep:
            shutil.copy(PACKAGE / room / name, folder / room / name)
        for file in (FAKES / room).glob("*.py"):
            (folder / room / file.name).write_text(_with_hashes(file.read_text()))
    shutil.copy(PACKAGE / "__init__.py", folder / "__init__.py")
    return folder


def _with_hashes(text: str) -> str:
    """Puts the hashes of the stand-in's functions where the toy patches want them."""
    space: dict[str, Any] = {}
    source = (FAKES / "vllm" / "v1" / "worker" / "batch.py").read_text()
    exec(compile(source, "batch.py", "exec"), space)  # our own file
    for mark, name in (("@HASH@", "swap"), ("@IDLE@", "never")):
        lines = source.splitlines()
        start = space["Batch"].__dict__[name].__code__.co_firstlineno - 1
        block = textwrap.dedent("\n".join(inspect.getblock([line + "\n" for line in lines[start:]])).replace("\n\n", "\n"))
        clean = "\n".join(line.rstrip() for line in block.strip().splitlines())
        text = text.replace(mark, hashlib.sha256(clean.encode()).hexdigest()[:16])
    return text


def lent(folder: Path, *names: str) -> Path:
    """The folder, with these packages of our own environment for an interpreter that has none of them; links, nothing is copied."""
    for name in names:
        found = distribution(name)
        for top in {file.parts[0] for file in found.files or () if file.parts[0] != ".."}:
            (folder / top).symlink_to(str(found.locate_file(top)))
    return folder


def bench(name: str) -> Bench:
    return Bench(
        name=name, file=FAKES / "bench" / f"{name}.py", parameters={}, exercises=("vllm.v1.worker.batch:Batch.swap",), witnesses=()
    )


def arm(name: str, *patches: str, environment: Mapping[str, str] | None = None, allow: bool = False) -> Arm:
    return Arm(
        name=name,
        baseline=name == "plain",
        build="default",
        patches=patches,
        environment=environment or {},
        server_arguments=(),
        client={},
        allow_unverified=allow,
    )


def scenario(
    python: Path, *arms: Arm, cases: tuple[Mapping[str, Any], ...] = ({},), alternate_rounds: bool = False, **parameters: Any
) -> Scenario:
    return Scenario(
        name="toy",
        question="Does the machinery work?",
        profile="quick",
        workload=MicroWorkload(bench="toy", parameters=parameters, cases=cases, alternate_rounds=alternate_rounds),
        builds={"default": PythonBuild(name="default", path=str(python))},
        arms=arms,
        metrics=(),
        blocks=6,
        seed=0,
        source="toy.yaml",
        definition={
            "name": "toy",
            "profile": "quick",
            "workload": {"kind": "micro", "bench": "toy", "parameters": parameters},
            "arms": {arm.name: {"patches": list(arm.patches)} for arm in arms},
            "metrics": {},
        },
    )
