"""vLLM's own tests on two arms: what is blamed on a change, and what isn't."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.run.checks import vllm_tests
from perfproof.run.checks.vllm_tests import Outcome, Ran

CHECKOUT = {
    "pyproject.toml": "[tool.pytest.ini_options]\n",
    "vllm/__init__.py": "raise AssertionError('the checkout was imported instead of the build')\n",
    "tests/__init__.py": "",
    "tests/helpers.py": "ROWS = (1, 2)\n",
    "tests/test_batch.py": """
import os
import pytest
from tests.helpers import ROWS
from vllm.v1.worker.batch import Batch

def test_swap():
    assert Batch().swap(*ROWS) == (2, 1)

class TestMore:
    @pytest.mark.parametrize("n", [1, 2])
    def test_never(self, n):
        assert Batch().never() is None

def test_lacks_a_package():
    import a_package_that_nobody_has

@pytest.mark.skip(reason="no GPU")
def test_skipped():
    pass

@pytest.mark.xfail(reason="known")
def test_known():
    assert False

def test_runner():
    assert "VLLM_USE_V2_MODEL_RUNNER" not in os.environ
""",
    "tests/test_crash.py": "import os\n\ndef test_a():\n    pass\n\ndef test_crash():\n    os.abort()\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout as vLLM's is: tests in a package, the source folder beside them."""
    for name, text in CHECKOUT.items():
        path = tmp_path / "checkout" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "checkout"


def ran(**words: str) -> Ran:
    """An arm whose tests ended so: `test_a="failed"`."""
    outcomes = {f"test_it.py::{name}": Outcome(word=word, why="it broke" if word == "failed" else "") for name, word in words.items()}
    return Ran(label="arm", outcomes=outcomes, ended="pytest exited with code 1", complete=True)


def test_tests_run_in_the_builds_interpreter_and_import_its_vllm(toy_build: ReadyBuild, checkout: Path, tmp_path: Path) -> None:
    """The checkout's own vllm folder is never what is tested; every outcome is known by its node id, nothing is left behind."""
    before = sorted(path for path in checkout.rglob("*"))
    found = vllm_tests.run(toy_build, [checkout / "tests" / "test_batch.py"], tmp_path / "out", "base")
    words = {test: outcome.word for test, outcome in found.outcomes.items()}
    file = "tests/test_batch.py::"
    assert words == {
        f"{file}test_swap": "passed",
        f"{file}TestMore::test_never[1]": "passed",
        f"{file}TestMore::test_never[2]": "passed",
        f"{file}test_lacks_a_package": "failed",
        f"{file}test_skipped": "skipped",
        f"{file}test_known": "skipped",
        f"{file}test_runner": "passed",
    }
    assert "a_package_that_nobody_has" in found.outcomes[f"{file}test_lacks_a_package"].why
    assert found.complete
    assert sorted(path for path in checkout.rglob("*")) == before


def test_a_crash_loses_only_the_test_that_crashed(toy_build: ReadyBuild, checkout: Path, tmp_path: Path) -> None:
    """What passed before is known; the one that ended the process is reported with how it ended."""
    crashed = vllm_tests.run(toy_build, [checkout / "tests" / "test_crash.py"], tmp_path / "out", "diff")
    assert not crashed.complete
    assert [outcome.word for outcome in crashed.outcomes.values()] == ["passed"]
    whole = {**crashed.outcomes, "tests/test_crash.py::test_crash": Outcome(word="passed", why="")}
    compared = vllm_tests.compare(dataclasses.replace(crashed, outcomes=whole), crashed)
    assert compared.broken == ("tests/test_crash.py::test_crash: did not run: pytest was ended by SIGABRT",)


def test_tests_that_load_another_vllm_are_refused(toy_build: ReadyBuild, checkout: Path, tmp_path: Path) -> None:
    """An outcome says nothing of a build that was not the one tested."""
    elsewhere = dataclasses.replace(toy_build, fingerprint=dataclasses.replace(toy_build.fingerprint, package=tmp_path / "vllm"))
    with pytest.raises(CannotRun, match=r"loaded vLLM from .*not from the build"):
        vllm_tests.run(elsewhere, [checkout / "tests" / "test_batch.py"], tmp_path / "out", "base")


def test_only_what_passed_before_is_blamed_on_the_change() -> None:
    """Failing on both says nothing; a test that the change fixes or skips is reported."""
    before = ran(kept="passed", broken="passed", failing="failed", mended="failed", hidden="passed", skipped="skipped")
    after = ran(kept="passed", broken="failed", failing="failed", mended="passed", hidden="skipped", skipped="skipped")
    compared = vllm_tests.compare(before, after)
    assert compared.passed == 1
    assert compared.broken == ("test_it.py::broken: it broke",)
    assert compared.failing == ("test_it.py::failing: it broke",)
    assert compared.mended == ("test_it.py::mended: it broke",)
    assert compared.skipped == ("test_it.py::hidden",)


def test_a_file_that_no_longer_imports_is_told_for_each_of_its_tests() -> None:
    """A change that breaks an import breaks all tests of the file, with that reason."""
    after = dataclasses.replace(ran(), outcomes={"test_it.py": Outcome(word="failed", why="ImportError: no Batch")})
    compared = vllm_tests.compare(ran(one="passed", two="passed"), after)
    assert compared.broken[:2] == ("test_it.py::one: ImportError: no Batch", "test_it.py::two: ImportError: no Batch")


def test_no_test_on_the_base_is_bad_input(toy_build: ReadyBuild, checkout: Path, tmp_path: Path) -> None:
    """Paths that hold no test, or are not there, are reported before anything is measured."""
    nothing = vllm_tests.run(toy_build, [checkout / "tests" / "helpers.py"], tmp_path / "out", "base")
    with pytest.raises(BadInput, match="no test ran on"):
        vllm_tests.compare(nothing, nothing)
    with pytest.raises(BadInput, match="there is no such file"):
        vllm_tests.checked([checkout / "tests" / "test_gone.py", checkout / "tests" / "test_batch.py::test_swap"])


def test_a_test_failed_if_any_of_its_phases_did() -> None:
    """Passing the call and failing the teardown is a failure; a skip in the setup is a skip."""
    said = [
        {"test": "a", "phase": "setup", "outcome": "passed", "why": ""},
        {"test": "a", "phase": "call", "outcome": "passed", "why": ""},
        {"test": "a", "phase": "teardown", "outcome": "failed", "why": "left a server"},
        {"test": "b", "phase": "setup", "outcome": "skipped", "why": "no GPU"},
        {"test": "b", "phase": "teardown", "outcome": "passed", "why": ""},
        {"test": "c", "phase": "setup", "outcome": "passed", "why": ""},
    ]
    assert vllm_tests.fold(said) == {"a": Outcome(word="failed", why="left a server"), "b": Outcome(word="skipped", why="no GPU")}
