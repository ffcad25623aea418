"""Whole sessions of `pytest --perfproof`, on a project whose tests know nothing of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from perfproof import store
from tests.pytest_plugin.project import CORE, HERE, SLOWER, TESTS, commit, git, make, pytest_in


def _verdicts(results: Path) -> dict[str, dict[str, object]]:
    said = json.loads((results / "verdicts.json").read_text())
    return {one["test"].partition("::")[2]: one for one in said["benchmarks"]}


def test_a_planted_slowdown_regresses_and_what_was_not_touched_does_not(tmp_path: Path) -> None:
    """A loop that does several times the work fails the session as regressed, its neighbour never; the tests are the project's own."""
    project, results = make(tmp_path / "adder"), tmp_path / "results"
    (project / "adder" / "core.py").write_text(SLOWER)
    words = (
        "--perfproof",
        "--perfproof-base",
        "main",
        "--perfproof-blocks=6",
        "--perfproof-margin=0.5",
        "--perfproof-results",
        str(results),
        "--junitxml=junit.xml",
    )

    done = pytest_in(project, *words)

    assert done.returncode == 1, done.stdout + done.stderr
    found = _verdicts(results)
    assert found["test_total"]["judged"]["verdict"] == "regressed"
    assert found["test_total"]["judged"]["effect"] > 0.5
    assert found["test_longest[2000]"]["judged"]["verdict"] != "regressed"
    assert re.search(r"FAILED bench/test_core\.py::test_total - perfproof: regressed: round time (\+|×\s)\d", done.stdout)
    assert "the working tree is measured with 1 uncommitted file" in done.stdout
    assert "1 test without the fixture `benchmark` was not run" in done.stdout
    assert "perfproof: fail (exit code 1)" in done.stdout
    assert 'message="perfproof: regressed' in (project / "junit.xml").read_text()
    records = store.read(results).records
    assert len(records) == 2 * 2 * 6
    counted = {name: {row["metric"]: row for row in one["counts"]} for name, one in found.items()}  # type: ignore[attr-defined]
    assert counted["test_total"]["python_instructions"]["verdict"] == "regressed"
    assert re.search(r"more Python work: [\d,]+ to [\d,]+ Python instructions \(.*\) in 2 trials of each arm; total \+", done.stdout)
    assert counted["test_longest[2000]"]["python_instructions"]["verdict"] == "identical"
    assert counted["test_longest[2000]"]["c_calls"]["verdict"] == "identical"
    assert "bench/test_core.py::test_longest[2000]: no call of what the change touches (total) was counted" in done.stdout
    assert "what the change touches was called: total (by 1 of 2 benchmarks)" in done.stdout
    assert "its work was not counted" not in done.stdout
    assert not any("not counted" in warning for record in records for warning in record.warnings)
    assert {(record.block, record.scenario) for record in records if record.counts} == {
        (1, "test_total"),
        (2, "test_total"),
        (1, "test_longest_2000"),
    }
    assert {tuple(record.order) for record in records} == {("base", "change"), ("change", "base")}
    assert len(git(project, "worktree", "list").splitlines()) == 1
    assert git(project, "status", "--porcelain", "--untracked-files=no") == " M adder/core.py\n"

    (project / "junit.xml").unlink()
    again = pytest_in(project, *words[:-1])

    assert again.returncode == 1
    assert len(store.read(results).records) == len(records), "what was measured is not measured again"


def test_each_side_that_lacks_or_breaks_a_benchmark_is_reported_in_words(tmp_path: Path) -> None:
    """New, gone, broken by the change, broken before it, and skipped benchmarks are distinguished, and only the change is blamed."""
    gone = "\n\ndef test_gone(benchmark):\n    benchmark(longest, ['a'])\n"
    weak = "\n\ndef test_weak(benchmark):\n    assert LIMIT > 2\n    benchmark(longest, ['a'])\n"
    mended = "\n\ndef test_mended(benchmark):\n    assert LIMIT < 2\n    benchmark(longest, ['a'])\n"
    skipped = "\n\n@pytest.mark.skip(reason='no GPU')\ndef test_skipped(benchmark):\n    benchmark(longest, ['a'])\n"
    head = "import pytest\n\nfrom adder.core import LIMIT, longest\n"
    project = make(tmp_path / "adder", head + weak + mended + skipped + gone, adder__core_py=CORE + "\n\nLIMIT = 3\n")
    git(project, "checkout", "--quiet", "-b", "mine")
    (project / "adder" / "core.py").write_text(CORE + "\n\nLIMIT = 1\n")
    (project / "bench" / "test_core.py").write_text(head + weak + mended + skipped + gone.replace("test_gone", "test_new"))
    commit(project)

    done = pytest_in(project, "--perfproof", "-rs", "--perfproof-results", str(tmp_path / "results"))

    assert done.returncode == 3, done.stdout + done.stderr
    told = {name: one["told"] for name, one in _verdicts(tmp_path / "results").items()}
    assert told["test_weak"].startswith("untestable: fails with the change and not at main (")
    assert "which is not blamed on the change: assert 3 < 2" in told["test_mended"]
    assert told["test_skipped"].startswith("is skipped at main (")
    assert told["test_skipped"].endswith("and with the change: no GPU")
    assert told["test_new"].endswith("there is nothing to compare with")
    assert "and so not compared: bench/test_core.py::test_gone" in done.stdout
    assert "the benchmark itself differs between the sides" in done.stdout
    assert len(store.read(tmp_path / "results").records) == 2 * 3, "what cannot be measured is not run again"


def test_a_base_that_runs_the_changes_code_proves_nothing(tmp_path: Path) -> None:
    """Where the project's installation leads the base's tests to the working tree, nothing is called equivalent: it is untestable."""
    project = tmp_path / "adder"
    make(project, conftest_py=f"import sys\n\nsys.path.insert(0, {str(project)!r})\n")
    (project / "adder" / "core.py").write_text(SLOWER)

    done = pytest_in(project, "--perfproof", "--perfproof-base=HEAD", "-k", "longest")

    assert done.returncode == 3, done.stdout + done.stderr
    assert "adder/__init__.py, adder/core.py came from the other side's checkout, not from HEAD at " in done.stdout


def test_without_the_option_nothing_is_measured_and_nothing_imported(tmp_path: Path) -> None:
    """A plain session runs the tests as ever, and the plugin imports nothing of the suite but itself."""
    project = make(tmp_path / "adder")
    (project / "bench" / "test_core.py").write_text(TESTS)

    done = pytest_in(project, "-q", "--benchmark-disable")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
    code = (
        "import sys, perfproof.pytest_plugin; print([m for m in sys.modules if m.startswith(('perfproof', 'numpy', 'rich', 'pydantic'))])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "['perfproof', 'perfproof.pytest_plugin']"


def test_what_stands_in_the_way_ends_the_session_with_code_2(tmp_path: Path) -> None:
    """No pytest-benchmark, too few blocks and pytest-xdist are all reported at once, before anything is collected."""
    project = make(tmp_path / "adder", xdist_like_py="def pytest_addoption(parser):\n    parser.addoption('--numprocesses', type=int)\n")

    done = pytest_in(project, "-p", "xdist_like", "--numprocesses=2", "--perfproof", "--perfproof-blocks=3", benchmark=False)

    assert done.returncode == 2
    assert "--perfproof needs pytest-benchmark" in done.stderr
    assert "leave out -n, or use -n 0" in done.stderr
    assert "--perfproof-blocks: expected 6 to 1000, got 3" in done.stderr


def test_a_session_in_which_nothing_differs_says_so(tmp_path: Path) -> None:
    """A working tree like its base is nothing to measure: code 2, and an older commit to name."""
    project = make(tmp_path / "adder")

    done = pytest_in(project, "--perfproof")

    assert done.returncode == 2
    assert "does not differ from main" in done.stdout
    assert "--perfproof-base HEAD~1" in done.stdout


def test_ids_that_change_from_process_to_process_are_matched_or_reported(tmp_path: Path) -> None:
    """A case named by an address is measured; cases that only a set's order or a random number tells apart fail the session, with why."""
    tests = """\
import random

import pytest

from adder.core import longest

RANDOM = f"n{random.random()}"


@pytest.mark.parametrize("what", [object()], ids=repr)
def test_address(benchmark, what):
    benchmark.pedantic(longest, args=(["a"],), rounds=3)


@pytest.mark.parametrize("what", [1], ids=[RANDOM])
def test_random(benchmark, what):
    benchmark.pedantic(longest, args=(["a"],), rounds=3)


@pytest.mark.parametrize("what", [object(), object()], ids=repr)
def test_alike(benchmark, what):
    benchmark.pedantic(longest, args=(["a"],), rounds=3)
"""
    project = make(tmp_path / "adder", tests)
    (project / "adder" / "core.py").write_text(CORE + "\n\nX = 1\n")

    done = pytest_in(
        project, "--perfproof", "--perfproof-base=HEAD", "--perfproof-blocks=6", "--perfproof-results", str(tmp_path / "results")
    )

    assert done.returncode == 3, done.stdout + done.stderr
    found = {name.partition("[")[0]: one["told"] for name, one in _verdicts(tmp_path / "results").items()}
    assert "its name differs between processes" in found["test_random"]
    assert "several of its cases differ only in an address" in found["test_alike"]
    assert not found["test_address"].startswith(("is not at", "untestable: its name differs"))
    assert {record.scenario.partition("_object")[0] for record in store.read(tmp_path / "results").records if record.status == "ok"}


def test_benchmarks_that_were_all_renamed_are_no_pass(tmp_path: Path) -> None:
    """Where the base has benchmarks and not one of them is found again, nothing was compared: the session fails, and names them."""
    before = "from adder.core import longest\n\n\ndef test_old(benchmark):\n    benchmark(longest, ['a'])\n"
    project = make(tmp_path / "adder", before)
    for file in project.rglob("test_*.py"):
        file.write_text(file.read_text().replace("def test_", "def test_new_"))

    done = pytest_in(project, "--perfproof", "--perfproof-base=HEAD", "--perfproof-blocks=6")

    assert done.returncode == 3, done.stdout + done.stderr
    assert "is not at HEAD: there is nothing to compare with" in done.stdout
    assert "only at HEAD, and so not compared: " in done.stdout
    assert "fail (exit code 3)" in done.stdout
