"""`perfproof blame` from two builds to its answer, with real processes on stand-ins for vLLM: mixtures that crash, a kill in the middle,
changes that lie in a package or in compiled code."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from perfproof.builds.prepare import prepare
from perfproof.changes.blame.blame_command import BlameRequest, folder_of, perform
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, BadInput, CannotRun
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.checks.catalog import Bench
from perfproof.run.kinds.micro.micro_runner import MicroRunner
from perfproof.run.trials.runner import Runner
from perfproof.tracking.released_scenario import OpenRunners, named_build
from tests import toy
from tests.tracking.fakes import scenario

BATCH, STATE = "vllm/v1/worker/batch.py", "vllm/v1/worker/state.py"
BENCH = """
PARAMETERS = {"rounds": 1, "warmup_rounds": 0, "seed": 0}
EXERCISES = ("vllm.v1.worker.batch:Batch.swap",)
WITNESSES = ("bytes_per_swap",)

def test_costs(benchmark, parameters):
    import torch
    import vllm.v1.worker.batch as batch
    benchmark.pedantic(lambda: batch.Batch().swap(1, 2), rounds=1, warmup_rounds=0, iterations=1)
    benchmark.extra_info["witnesses"] = {"bytes_per_swap": 100 + batch.cost() + batch.more() + getattr(torch, "COST", 0)}
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
BAD = (
    GOOD.replace("def cost():\n    return 0", "def cost():\n    return 80")
    .replace("def more():\n    return 0", "def more():\n    return 20")
    .replace("def first():\n    return 1", "def first():\n    return 2")
    .replace("return first()", "return 2")
)


class Killed(BaseException):
    """What a kill is to a test."""


@dataclasses.dataclass
class Place:
    """An interpreter with a stand-in for vLLM, runners on it, and the next runner's last trial (None: all of them)."""

    folder: Path
    python: Path
    most: int | None = None
    ran: int = 0

    @contextlib.contextmanager
    def runners(self, plan: Plan, results: Path) -> Iterator[Callable[[Scenario], Runner]]:
        package = self.folder / "perfproof"
        bench = Bench(
            name="swap_states", file=package / "bench" / "swap_states.py", parameters={}, exercises=(), witnesses=("bytes_per_swap",)
        )
        ready = {build.key: prepare(build, self.folder / "builds", lambda _: None, package) for build in plan.builds()}
        runner = MicroRunner(ready, results / "logs", seed=plan.seed, benches=["swap_states"], bench_of=lambda _: bench)
        if self.ran == self.most:
            raise Killed
        self.ran += 1
        try:
            yield lambda _: runner
        finally:
            runner.close()

    def diff(self, name: str, files: Mapping[str, str]) -> Path:
        """A diff that gives files of the stand-in other texts."""
        packages = next(self.python.parent.parent.glob("lib/*/site-packages"))
        found = ""
        for path, text in files.items():
            old = (packages / path).read_text().splitlines(keepends=True)
            found += "".join(difflib.unified_diff(old, text.splitlines(keepends=True), f"a/{path}", f"b/{path}"))
        (self.folder / name).write_text(found)
        return self.folder / name


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("blame")
    package = toy.package(folder / "perfproof")
    (package / "bench" / "swap_states.py").write_text(BENCH)
    return Place(folder=folder, python=interpreter(folder / "good"))


def interpreter(folder: Path, *, torch: str = "", version: str = "2.13.0") -> Path:
    python = toy.interpreter(folder)
    packages = next(folder.glob("lib/*/site-packages"))
    (packages / f"torch-{version}.dist-info").mkdir()
    (packages / f"torch-{version}.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
    (packages / BATCH).write_text((packages / BATCH).read_text() + GOOD)
    if torch:
        (packages / "torch" / "__init__.py").write_text((packages / "torch" / "__init__.py").read_text() + torch)
    return python


def asked(place: Place, folder: Path, bad: str, **changes: Any) -> BlameRequest:
    made = scenario(workload={"kind": "micro", "bench": "swap_states"})
    request = BlameRequest(
        scenario=made,
        good=named_build(str(place.python), Path.cwd()),
        bad=named_build(bad, Path.cwd()),
        metric="bytes_per_swap",
        least=None,
        budget=None,
        builds=place.folder / "builds",
        results=folder / "results",
        history=folder,
        report=None,
        as_json=True,
    )
    return dataclasses.replace(request, **changes)


def told(request: BlameRequest, place: Place, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    runners: OpenRunners = place.runners
    code = perform(request, runners=runners)
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def bad(place: Place) -> str:
    old = next(place.python.parent.parent.glob(f"lib/*/site-packages/{BATCH}")).read_text()
    return f"{place.python}+{place.diff('bad.diff', {BATCH: old.replace(GOOD, BAD)})}"


def test_a_killed_search_goes_on_around_mixtures_that_crash(
    place: Place, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two functions that only run together crash one without the other; the guilty ones have their shares, and no trial runs twice."""
    request = asked(place, tmp_path, bad, report=tmp_path / "page.html")
    place.most, place.ran = 4, 0
    with pytest.raises(Killed):
        perform(request, runners=place.runners)
    place.most, place.ran = None, 0
    code, found = told(request, place, capsys)
    assert code == EXIT_PASS
    assert [(one["function"], one["share"]) for one in found["guilty"]] == [("cost", pytest.approx(0.8)), ("more", pytest.approx(0.2))]
    assert [one["interval"] for one in found["guilty"]] == [[one["share"]] * 2 for one in found["guilty"]]
    assert found["reach"] == 1
    assert found["answer"].startswith("equivalent")
    assert place.ran == 2 + sum(not one["why"].startswith("vllm/") for one in found["trials"]) - 4
    assert "80 %" in (tmp_path / "page.html").read_text()
    applied = subprocess.run(
        ["git", "apply", "--stat", found["diff_back"]], capture_output=True, text=True, check=True, cwd=tmp_path, env=os.environ
    )
    assert BATCH.rpartition("/")[2] in applied.stdout


def test_a_spent_budget_says_so_and_the_same_command_goes_on(
    place: Place, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No mixture is begun after it; what was measured is kept."""
    code, found = told(asked(place, tmp_path, bad, budget=1e-9), place, capsys)
    assert (code, found["complete"], found["guilty"]) == (EXIT_INCONCLUSIVE, False, [])
    code, found = told(asked(place, tmp_path, bad), place, capsys)
    assert (code, found["complete"]) == (EXIT_PASS, True)


def test_a_change_in_a_package_is_told_as_that(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python that differs beside it and does nothing is not named; the package is, and why it could not be tried with the good vLLM."""
    python = interpreter(place.folder / tmp_path.name, torch="\nCOST = 50\n", version="9.9")
    text = (path := next((place.folder / tmp_path.name).glob(f"lib/*/site-packages/{BATCH}"))).read_text()
    path.write_text(text.replace("return (second, first)", "return (second, first) + ()"))
    code, found = told(asked(place, tmp_path, str(python)), place, capsys)
    assert (code, found["guilty"], found["reach"]) == (EXIT_INCONCLUSIVE, [], 0)
    assert found["elsewhere"] == ["torch 2.13.0 and 9.9"]
    assert found["packages"]["packages"] == ["torch==9.9"]
    assert "nothing is installed into" in found["packages"]["why"]


def test_builds_with_the_same_python_differ_elsewhere(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of vLLM's Python can be taken back: none of the change lies in it."""
    python = interpreter(place.folder / tmp_path.name, torch="\nCOST = 50\n")
    code, found = told(asked(place, tmp_path, str(python)), place, capsys)
    assert (code, found["guilty"], found["reach"], found["trials"]) == (EXIT_INCONCLUSIVE, [], 0, [])


def test_a_clone_names_the_commits_behind_the_lines(place: Place, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commit that changed the guilty function after the good build's, with its pull request; one that changed another stays away."""
    repo, old = tmp_path / "clone", next(place.python.parent.parent.glob(f"lib/*/site-packages/{BATCH}")).read_text()
    texts = {
        "begin": old,
        "Swaps are dearer (#4711)": old.replace("def cost():\n    return 0", "def cost():\n    return 80"),
        "The rest (#4712)": old.replace(GOOD, BAD),
    }
    subprocess.run(["git", "init", "-q", "-b", "main", repo], check=True)
    for number, (subject, text) in enumerate(texts.items()):
        (repo / BATCH).parent.mkdir(parents=True, exist_ok=True)
        (repo / BATCH).write_text(text)
        git = ["git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", subject], check=True)
        subprocess.run([*git, "tag", f"t{number}"], check=True)
    _, found = told(asked(place, tmp_path, bad, clone=repo, commits=("t0", "t2")), place, capsys)
    by_name = {one["function"]: one for one in found["guilty"]}
    assert [(one["pull"], one["subject"]) for one in by_name["cost"]["commits"]] == [(4711, "Swaps are dearer")]
    assert by_name["cost"]["known_as"] == "#4711: Swaps are dearer"
    assert by_name["more"]["known_as"] == "#4712: The rest"
    with pytest.raises(BadInput, match=r"v0\.32\.0"):
        perform(asked(place, tmp_path / "tags", bad, clone=repo), runners=place.runners)


def test_builds_that_do_not_differ_in_the_count_are_refused(place: Place, tmp_path: Path) -> None:
    """There is nothing to find, and the sentence says so."""
    with pytest.raises(CannotRun, match="there is nothing to find"):
        perform(asked(place, tmp_path, str(place.python)), runners=place.runners)
    assert folder_of(asked(place, tmp_path, str(place.python))).is_dir()
