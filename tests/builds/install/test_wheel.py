"""The wheel of perfproof beside a project that has a package `suite` of its own: neither sees the other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
UV = Path(sys.executable).parent / "uv"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel installs, without its dependencies: those are this interpreter's."""
    folder = tmp_path_factory.mktemp("wheel")
    run(UV, "build", "--quiet", "--wheel", "--out-dir", folder / "dist", ROOT)
    (wheel,) = (folder / "dist").glob("*.whl")
    run(UV, "pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", folder / "site", wheel)
    return folder / "site"


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
