"""Where blame is tested: stand-ins for vLLM whose functions say what a trial counts, and runners on them.

`InProcess` makes trials without processes; what asks an interpreter is answered from its folder. `RealTrials` have real ones.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import importlib.metadata
import os
import platform
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from perfproof.builds.install import interpreter_probe
from perfproof.builds.install.interpreter_probe import Look
from perfproof.builds.install.ready_build import Fingerprint, ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.changes.blame.blame_command import BlameRequest
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.checks.catalog import Bench
from perfproof.run.kinds.micro.micro_runner import MicroRunner
from perfproof.run.trials.runner import Runner
from perfproof.tracking.released_scenario import named_build
from tests import toy
from tests.factory import ATTESTATION, record
from tests.tracking.fakes import MACHINE, scenario

BATCH = "vllm/v1/worker/batch.py"
COMPILED = "vllm/_C.abi3.so"
BENCH = """
PARAMETERS = {"rounds": 1, "warmup_rounds": 0, "seed": 0}
EXERCISES = ("vllm.v1.worker.batch:Batch.swap",)
WITNESSES = ("bytes_per_swap",)

def test_costs(benchmark, parameters):
    import vllm.v1.worker.batch as batch
    benchmark.pedantic(lambda: batch.Batch().swap(1, 2), rounds=1, warmup_rounds=0, iterations=1)
    benchmark.extra_info["witnesses"] = {"bytes_per_swap": 100 + batch.cost() + batch.more()}
    benchmark.extra_info["work"] = {"swaps": 1}
"""
GOOD = """

def cost():
    return 0


def more():
    return 0


def first():
    return 1


def second():
    return first()


assert second() == first()
"""
COSTS = GOOD.replace("def cost():\n    return 0", "def cost():\n    return 80")
CRASHES = GOOD.replace("def first():\n    return 1", "def first():\n    return 2").replace("return first()", "return 2")


def both(*texts: str) -> str:
    """The good functions with all that differs from them in these."""
    made = GOOD.split("\n")
    for text in texts:
        made = [own if own != old else new for own, old, new in zip(made, GOOD.split("\n"), text.split("\n"), strict=True)]
    return "\n".join(made)


BAD = both(COSTS, CRASHES, GOOD.replace("def more():\n    return 0", "def more():\n    return 20"))
"""Two guilty functions, and two that only run together."""


@dataclass
class Place:
    """A folder with an interpreter that has a stand-in for vLLM; its runners count their trials."""

    folder: Path
    python: Path
    ran: int = 0

    @property
    def builds(self) -> Path:
        return self.folder / "builds"

    @property
    def batch(self) -> str:
        """The text of the file that differs."""
        return next(self.python.parents[1].glob(f"lib/*/site-packages/{BATCH}")).read_text()

    def diff(self, name: str, text: str) -> str:
        """The interpreter with a diff of that name, which gives the file another text."""
        texts = (one.splitlines(keepends=True) for one in (self.batch, text))
        (self.folder / name).write_text("".join(difflib.unified_diff(*texts, f"a/{BATCH}", f"b/{BATCH}")))
        return f"{self.python}+{self.folder / name}"


@dataclass
class InProcess(Place):
    """Trials that this process makes: they count what the functions of a build's files say."""

    @contextlib.contextmanager
    def runners(self, plan: Plan, results: Path) -> Iterator[Callable[[Scenario], Runner]]:
        yield lambda _: self  # type: ignore[return-value]

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        for name in arms:
            build = prepare(
                block.scenario.builds[next(one.build for one in block.scenario.arms if one.name == name)], self.builds, lambda _: None
            )
            self.ran += 1
            made = record(
                block.scenario.definition,
                digest=block.scenario.digest,
                block=block.number,
                arm=name,
                order=list(block.order),
                attestation=dataclasses.replace(ATTESTATION, sources=build.fingerprint.sources),
                environment=MACHINE,
            )
            try:
                yield dataclasses.replace(made, witnesses={"bytes_per_swap": counted(build)}, work={"swaps": 1})
            except AssertionError:
                yield dataclasses.replace(made, status="failed", reason="AssertionError", witnesses={})


def counted(build: ReadyBuild) -> float:
    """What a trial counts: by the functions of vLLM's file, by PyTorch and by compiled code."""
    space: dict[str, Any] = {}
    exec((build.fingerprint.package.parent / BATCH).read_text(), space)  # our own file
    torch = next(build.interpreter.parents[1].glob("lib/*/site-packages/torch/__init__.py")).read_text()
    compiled = build.fingerprint.package.parent / COMPILED
    more = sum(map(int, re.findall(r"^COST = (\d+)", torch, re.M))) + int(compiled.read_text() if compiled.is_file() else 0)
    return float(100 + space["cost"]() + space["more"]() + more)


def answer_from_folders(patch: pytest.MonkeyPatch) -> None:
    """Has interpreters answer without a process, from what lies in their folders."""

    def packages(interpreter: Path) -> tuple[Path, dict[str, str]]:
        folder = next(interpreter.parents[1].glob("lib/*/site-packages"))
        return folder, {one.name: one.version for one in importlib.metadata.distributions(path=[str(folder)])}

    def look(interpreter: Path, log: Path, **more: object) -> Look:
        folder, versions = packages(interpreter)
        return Look(
            python=platform.python_version(),
            package=folder / "vllm",
            version="0.32.0+cpu",
            packages=versions,
            installed=repr(sorted(versions.items())),
            no_pytest="",
        )

    def load(interpreter: Path, seen: Look, log: Path, **more: object) -> Fingerprint:
        assert seen.package is not None
        sources, files = interpreter_probe.hash_sources(seen.package)
        return Fingerprint(
            distribution="vllm",
            vllm_version="0.32.0+cpu",
            package=seen.package,
            sources=sources,
            files=files,
            python=seen.python,
            torch_version=f"{seen.packages['torch']}+cpu",
            compiled_operators=True,
            compiled_reason="",
            device="cpu",
            packages=seen.packages,
            has_pytest=True,
            installed=seen.installed,
        )

    patch.setattr(interpreter_probe, "look", look)
    patch.setattr(interpreter_probe, "load", load)
    patch.setattr(interpreter_probe, "installed", lambda interpreter, log: packages(interpreter)[1])
    patch.setattr(interpreter_probe, "syntax_faults", lambda *asked: [])


@dataclass
class RealTrials(Place):
    """Trials in real processes; when trial `last` has run and its record is not kept yet, the process that asked for it is killed."""

    last: int | None = None

    @contextlib.contextmanager
    def runners(self, plan: Plan, results: Path) -> Iterator[Callable[[Scenario], Runner]]:
        package = self.folder / "perfproof"
        bench = Bench(
            name="swap_states", file=package / "bench" / "swap_states.py", parameters={}, exercises=(), witnesses=("bytes_per_swap",)
        )
        ready = {build.key: prepare(build, self.builds, lambda _: None, package) for build in plan.builds()}
        runner = MicroRunner(ready, results / "logs", seed=plan.seed, benches=["swap_states"], bench_of=lambda _: bench)
        self.ran += 1
        try:
            yield lambda _: _Doomed(runner) if self.ran == self.last else runner  # type: ignore[return-value]
        finally:
            runner.close()


@dataclass
class _Doomed:
    runner: MicroRunner

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        for _ in self.runner.trials(block, arms):
            os.kill(os.getpid(), signal.SIGKILL)
        yield from ()


def real_trials(folder: Path) -> RealTrials:
    package = toy.package(folder / "perfproof")
    (package / "bench" / "swap_states.py").write_text(BENCH)
    return RealTrials(folder=folder, python=interpreter(folder / "good"))


def interpreter(folder: Path, *, cost: int = 0, torch: int = 0, version: str = "2.13.0", compiled: int = 0) -> Path:
    """An environment whose `cost`, PyTorch and compiled code make a trial count so much more."""
    python = toy.interpreter(folder)
    packages = next(folder.glob("lib/*/site-packages"))
    (packages / f"torch-{version}.dist-info").mkdir()
    (packages / f"torch-{version}.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
    own = GOOD.replace("def cost():\n    return 0", f"def cost():\n    return {cost}")
    for path, more in ((BATCH, own), ("torch/__init__.py", f"\nCOST = {torch}\n" if torch else "")):
        (packages / path).write_text((packages / path).read_text() + more)
    if compiled:
        (packages / COMPILED).write_text(str(compiled))
    return python


def asked(place: Place, folder: Path, bad: str, **changes: Any) -> BlameRequest:
    """The question what makes a trial count more, with results below a folder."""
    request = BlameRequest(
        scenario=scenario(workload={"kind": "micro", "bench": "swap_states"}),
        good=named_build(str(place.python), Path.cwd()),
        bad=named_build(bad, Path.cwd()),
        metric="bytes_per_swap",
        least=None,
        budget=None,
        builds=place.builds,
        results=folder / "results",
        history=folder,
        report=None,
        as_json=True,
    )
    return dataclasses.replace(request, **changes)


def records(folder: Path) -> list[str]:
    """The lines of all trials that were kept."""
    return [line for file in (folder / "results").rglob("*.jsonl") for line in file.read_text().splitlines()]


def committed(repo: Path, texts: Mapping[str, str]) -> list[str]:
    """A clone with a commit for each text of the file, by its subject; their tags."""
    subprocess.run(["git", "init", "-q", "-b", "main", repo], check=True)
    git = ["git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@b"]
    for number, (subject, text) in enumerate(texts.items()):
        (repo / BATCH).parent.mkdir(parents=True, exist_ok=True)
        (repo / BATCH).write_text(text)
        for words in (["add", "."], ["commit", "-q", "-m", subject], ["tag", f"t{number}"]):
            subprocess.run([*git, *words], check=True)
    return [f"t{number}" for number in range(len(texts))]
