"""The side folder: what an interpreter that is not ours gets to see."""

from __future__ import annotations

import re
from pathlib import Path

import tomllib

from perfproof.builds.install.release_install import nearest
from perfproof.builds.install.side_folder import PACKAGE, entry_points, side_folder
from tests import toy


def test_every_patch_is_an_entry_point_in_pyproject_too() -> None:
    """The plugins that the side folder offers are those that pyproject lists: a patch is registered under the same name in both."""
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())
    listed = project["project"]["entry-points"]["vllm.general_plugins"]
    found = entry_points(PACKAGE)
    assert {name: listed.get(name) for name in found} == found


def test_the_side_folder_carries_patches_benchmarks_and_entry_points_alone(tmp_path: Path) -> None:
    """It holds the package's name, the three rooms that run apart, and the metadata of the plugins; nothing else of the suite."""
    folder = side_folder(tmp_path, toy.package(tmp_path / "perfproof"))
    assert {path.name for path in (folder / "perfproof").iterdir()} == {"__init__.py", "bench", "child", "patches"}
    points = next(folder.glob("perfproof-*.dist-info/entry_points.txt")).read_text()
    assert "perfproof_attest = perfproof.patches.guard:attest\n" in points
    assert "toy_patch = perfproof.patches.toy_patch:register\n" in points


def test_folders_within_a_room_come_along(tmp_path: Path) -> None:
    """What a room keeps in a folder of its own is there under the same path."""
    folder = side_folder(tmp_path, toy.package(tmp_path / "perfproof"))
    assert (folder / "perfproof" / "child" / "counting" / "counter.py").is_file()


def test_an_edit_makes_another_folder(tmp_path: Path) -> None:
    """The folder is named by its content: a running trial keeps the patches it started with."""
    package = toy.package(tmp_path / "perfproof")
    first = side_folder(tmp_path, package)
    assert side_folder(tmp_path, package) == first
    text = (first / "perfproof" / "patches" / "toy_patch.py").read_text()
    (package / "patches" / "toy_patch.py").write_text(text + "# edited\n")
    second = side_folder(tmp_path, package)
    assert second != first
    assert (first / "perfproof" / "patches" / "toy_patch.py").read_text() == text


def test_nothing_in_the_side_folder_imports_the_rest_of_the_suite(tmp_path: Path) -> None:
    """What travels alone must stand alone."""
    folder = side_folder(tmp_path)
    for file in (folder / "perfproof").rglob("*.py"):
        for found in re.findall(r"^\s*(?:from|import) perfproof\.?(\w*)", file.read_text(), re.MULTILINE):
            assert found in ("bench", "patches", "child"), f"{file.name} imports perfproof.{found}"


def test_near_versions_are_those_next_in_order() -> None:
    """The versions told for an unknown one are its neighbours in the order of release."""
    known = ["0.32.0", "0.31.0", "0.30.0", "0.29.0", "0.28.0", "0.9.2.post2", "nonsense"]
    assert nearest("0.30.1", known, 3) == ["0.30.0", "0.31.0", "0.32.0"]
    assert nearest("0.10.0", known, 3) == ["0.9.2.post2", "0.28.0", "0.29.0"]
    assert nearest("99", known, 2) == ["0.31.0", "0.32.0"]
    assert nearest("newest", known, 2) == ["0.31.0", "0.32.0"]
    assert nearest("1.0", []) == []


def test_a_patch_file_that_python_cannot_read_is_still_a_plugin(tmp_path: Path) -> None:
    """vLLM is to meet it and to say what is wrong; an arm without a word of it would run unpatched."""
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "mine.py").write_text("def register():\n    pass\ndef broken(:\n")
    assert entry_points(tmp_path)["mine"] == "perfproof.patches.mine:register"
