"""The wheel of perfproof: what it brings, how little it needs, and that it measures in a folder that holds nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib

from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_USAGE

ROOT = Path(__file__).resolve().parents[3]
UV = Path(sys.executable).parent / "uv"
BUILDS = Path(os.environ.get("PERFPROOF_BUILDS", ROOT / "builds"))
MOST_PACKAGES, MOST_BYTES = 25, 260 * 10**6
"""What `pip install perfproof` brings at most, beside perfproof itself."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, as the build backend makes it."""
    folder = tmp_path_factory.mktemp("wheel")
    run(UV, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """A folder with what the wheel installs, without its dependencies: those are this interpreter's."""
    site = wheel.parent / "site"
    run(UV, "pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", site, wheel)
    return site


@pytest.fixture(scope="module")
def environment(wheel: Path) -> Path:
    """A fresh environment with the wheel and what it needs, without extras."""
    place = wheel.parent / "env"
    run(UV, "venv", "--quiet", "--python", sys.executable, place)
    run(UV, "pip", "install", "--quiet", "--python", place / "bin" / "python", wheel)
    return place


class Command:
    """The installed command, in a folder that holds nothing."""

    def __init__(self, environment: Path, folder: Path) -> None:
        self.program, self.folder = environment / "bin" / "perfproof", folder

    def __call__(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.program, *words], cwd=self.folder, text=True, capture_output=True, check=False)


@pytest.fixture
def perfproof(environment: Path, tmp_path: Path) -> Command:
    return Command(environment, tmp_path)


def run(*words: str | Path, where: Path | None = None, path: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": path} if path else None
    return subprocess.run(words, check=True, text=True, capture_output=True, cwd=where, env=environment).stdout


def test_one_name_is_installed(installed: Path) -> None:
    """A wheel brings the package `perfproof`, its command and its metadata, and no other name that could be imported."""
    names = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert names - {"bin", ".lock"} == {"perfproof"}


def test_a_project_with_a_suite_of_its_own_is_not_disturbed(installed: Path, tmp_path: Path) -> None:
    """Its `suite` is imported where it stands, and the command runs there."""
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "__init__.py").write_text("MINE = True\n")
    ask = "import suite, perfproof.cli; assert suite.MINE; print(suite.__file__); print(perfproof.__file__)"
    theirs, ours = run(sys.executable, "-c", ask, where=tmp_path, path=str(installed)).split()
    assert Path(theirs).is_relative_to(tmp_path)
    assert Path(ours).is_relative_to(installed)
    assert "usage: perfproof" in run(sys.executable, "-m", "perfproof", "--help", where=tmp_path, path=str(installed))


def test_it_brings_few_packages(environment: Path) -> None:
    """Running, counting and judging need few packages: the others are extras."""
    names = {path.name.partition("-")[0] for path in environment.rglob("*.dist-info")}
    assert "perfproof" in names
    assert len(names - {"perfproof"}) <= MOST_PACKAGES, sorted(names)
    assert not names & {"pandas", "matplotlib", "jinja2", "statsmodels", "pyarrow", "pytest"}
    sizes = {seen.st_ino: seen.st_size for path in environment.rglob("*") if not path.is_symlink() and (seen := path.stat())}
    assert sum(sizes.values()) <= MOST_BYTES


def test_each_package_has_its_reason() -> None:
    """A line of pyproject.toml that adds a dependency says why."""
    text = (ROOT / "pyproject.toml").read_text()
    project = tomllib.loads(text)["project"]
    lines = {line.strip().partition('"')[2].partition('"')[0]: line for line in text.splitlines()}
    assert [need for need in project["dependencies"] if "#" not in lines[need]] == []


def test_it_brings_the_scenarios(environment: Path) -> None:
    """Each with its diffs and tasks, as the checkout has them; what makes tasks stays in the checkout."""
    (packed,) = environment.glob("lib/python3*/site-packages/perfproof/scenarios")
    own = ROOT / "scenarios"
    kept = {path.relative_to(own) for path in own.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert {path.relative_to(packed) for path in packed.rglob("*") if path.is_file()} == kept
    assert all((packed / name).read_bytes() == (own / name).read_bytes() for name in kept)


def test_an_empty_folder_is_enough_to_plan(perfproof: Command, environment: Path) -> None:
    """The main scenarios where none is named, any by its name or by the path that the documentation writes."""
    main = perfproof("plan", "--json")
    assert main.returncode == EXIT_PASS, main.stderr
    assert {trial["scenario"] for trial in json.loads(main.stdout)["trials"]} >= {"thinking_scan", "penalties"}
    for named in ("swap_states_overlay", "scenarios/swap_states_overlay.yaml"):
        plan = perfproof("plan", named, "--json")
        assert plan.returncode == EXIT_PASS, plan.stderr
        assert {trial["scenario"] for trial in json.loads(plan.stdout)["trials"]} == {"swap_states_overlay"}
    wrong = perfproof("plan", "swap_state")
    assert wrong.returncode == EXIT_USAGE
    assert "swap_state: there is no such file, and no scenario of that name; did you mean swap_states" in wrong.stderr
    assert list(perfproof.folder.iterdir()) == []


def test_records_are_judged_without_extras(perfproof: Command) -> None:
    """Verdicts, the pull request's text, the gate and tables of trials need no page."""
    records = ROOT / "results" / "reference"
    for words in (("compare",), ("report", "--pr"), ("gate",), ("report", "--junit", "out.xml")):
        done = perfproof(*words, "--results", records)
        assert done.returncode == EXIT_PASS, done.stderr
    assert perfproof("export", records, "--format", "csv").stdout.startswith("scenario,")


@pytest.mark.parametrize(
    ("words", "extra", "lacks"),
    [
        (["report", "--out", "page.html", "--results", "reference"], "report", "jinja2, markupsafe and matplotlib"),
        (["report", "--history", "history"], "report", "jinja2, markupsafe and matplotlib"),
        (["run", "thinking_scan", "--report", "page.html"], "report", "jinja2, markupsafe and matplotlib"),
        (["gate", "--report", "page.html", "--results", "reference"], "report", "jinja2, markupsafe and matplotlib"),
        (["count", "--diff", "scenarios/diffs/slower_update_from_output.diff", "--report", "page.html"], "report", "matplotlib"),
        (["history", "list", "--history", "history"], "history", "pandas"),
        (["history", "show", "--history", "history"], "history", "pandas"),
        (["steps", "--history", "history", "--metric", "round_time"], "history", "pandas"),
        (["export", "reference", "--format", "parquet"], "parquet", "pyarrow"),
    ],
)
def test_a_command_that_needs_more_says_what_to_install(perfproof: Command, words: list[str], extra: str, lacks: str) -> None:
    """One sentence, before anything is measured, and the exit code of a wrong request."""
    for name in ("reference", "history"):
        (perfproof.folder / name).symlink_to(ROOT / "results" / name)
    done = perfproof(*words)
    assert done.returncode == EXIT_USAGE
    (sentence,) = done.stderr.splitlines()
    assert lacks in sentence
    assert f"pip install 'perfproof[{extra}]'" in sentence


@pytest.mark.vllm
def test_an_empty_folder_is_enough_to_count(perfproof: Command) -> None:
    """A change of its own against a release, in a real engine: the answer of a checkout, with its exit code."""
    done = perfproof("count", "--diff", "scenarios/diffs/slower_update_from_output.diff", "--features", "stop strings", "--builds", BUILDS)
    assert done.returncode == EXIT_REGRESSED, done.stderr
    assert "Scheduler.update_from_output" in done.stdout
