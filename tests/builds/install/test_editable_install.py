"""Source trees: installed editable by the user's own command, never through a shell."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perfproof.builds.install import install_steps
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.builds.processes.supervised_process import Finished
from perfproof.model.base.errors import CannotRun
from perfproof.model.scenarios.scenario import EditableBuild
from perfproof.runners import build_faults
from tests import toy

LINK = (
    "import pathlib, site, os, sys; p = pathlib.Path(site.getsitepackages()[0]); "
    "(p / 'tree.pth').write_text(os.getcwd()); (p / 'asked').write_text(os.environ['VLLM_USE_PRECOMPILED'] + ' ' + ' '.join(sys.argv[1:]))"
)
"""What stands for an editable install."""
Make = Callable[..., ReadyBuild]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree with the stand-in for vLLM."""
    shutil.copytree(toy.FAKES / "vllm", tmp_path / "src" / "vllm")
    return tmp_path / "src"


@pytest.fixture
def make(tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Prepares an editable build of the tree by a command; the environment is the stand-in's, without a vLLM."""
    package = toy.package(tmp_path / "perfproof")

    def venv(self: install_steps.Installer, *words: str | Path, **more: str) -> Finished:
        folder = Path(words[-1])
        toy.interpreter(folder, vllm=False)
        packages = next(folder.glob("lib/*/site-packages"))
        shutil.copytree(toy.FAKES / "torch", packages / "torch")
        return Finished(command=(), code=0, seconds=0.0, log=self.log)

    monkeypatch.setattr(install_steps.Installer, "uv", venv)

    def run(*command: str) -> ReadyBuild:
        build = EditableBuild(name="tree", source=str(tree), command=command or None)
        return prepare(build, tmp_path / "builds", lambda _: None, package)

    return run


def test_the_command_runs_in_the_tree_without_a_shell(make: Make, tree: Path, tmp_path: Path) -> None:
    """The words go to the program as they are, `{python}` is the environment's interpreter, precompiled operators are asked for."""
    ready = make("{python}", "-c", LINK, "; touch hacked", "$HOME")
    assert ready.fingerprint.package == tree / "vllm"
    assert ready.interpreter.is_relative_to(tmp_path / "builds")
    assert next(ready.interpreter.parents[1].glob("lib/*/site-packages/asked")).read_text() == "1 ; touch hacked $HOME"
    assert not (tree / "hacked").exists()
    assert not ready.ours


def test_an_edit_of_the_tree_is_another_fingerprint_and_no_other_make(make: Make, tree: Path) -> None:
    """The command runs once; the tree's Python files are looked at every time."""
    first = make("{python}", "-c", LINK)
    asked = next(first.interpreter.parents[1].glob("lib/*/site-packages/asked"))
    asked.unlink()
    (tree / "vllm" / "more.py").write_text("A = 1\n")
    again = make("{python}", "-c", LINK)
    assert again.fingerprint.sources != first.fingerprint.sources
    assert not asked.exists()
    assert make("{python}", "-c", LINK, "more").id != first.id


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("{python}", "-c", "raise SystemExit('no compiler')"), "no compiler"),
        (("no-such-program",), "its command"),
        (("{python}", "-c", "pass"), "vllm"),
    ],
)
def test_a_command_that_fails_or_does_nothing_is_reported(make: Make, command: tuple[str, ...], words: str) -> None:
    """A command that fails, is not there, or leaves no vLLM ends in words, with what it printed."""
    with pytest.raises(CannotRun, match=words):
        make(*command)


def test_a_folder_that_is_no_source_tree_is_refused_first(tmp_path: Path) -> None:
    """A folder that is missing or holds no vLLM is reported before anything is made."""
    (tmp_path / "empty").mkdir()
    for source, words in (("none", "no such folder"), ("empty", "not a source tree of vLLM")):
        assert words in build_faults(EditableBuild(name="tree", source=str(tmp_path / source), command=None))[0]


def test_a_command_that_installs_another_vllm_is_refused(make: Make, tmp_path: Path) -> None:
    """What is imported afterwards must be the tree's."""
    other = tmp_path / "other"
    shutil.copytree(toy.FAKES / "vllm", other / "vllm")
    with pytest.raises(CannotRun, match="imported from elsewhere"):
        make("{python}", "-c", LINK.replace("os.getcwd()", repr(str(other))))
    assert sys.version_info >= (3, 11)
