"""A scenario that is known by its name alone is named in a command by a path, or name, that finds its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof.model.installed.scenario_folders import COMMANDS, OWN, located
from perfproof.model.scenarios.scenario_paths import typed


@pytest.mark.parametrize("room", ["", COMMANDS])
def test_what_is_typed_finds_perfproofs_own_file_from_every_folder(room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every scenario that ships, in a checkout and in a folder that has none."""
    for folder in (OWN.parent, tmp_path):
        monkeypatch.chdir(folder)
        for file in (OWN / room).glob("*.yaml"):
            assert located(Path(typed(file.stem))).resolve() == file


def test_a_group_of_records_is_typed_as_its_scenario() -> None:
    """Hosts and halves of one scenario are run again by its one file."""
    assert typed("penalties [2 of 3]") == "scenarios/penalties.yaml"
    assert typed("vllm_hash [3 hosts]") == "scenarios/commands/vllm_hash.yaml"


def test_a_scenario_that_lies_elsewhere_is_named_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it lay in `scenarios`, whatever its name, with the folder's own rooms or without; a folder that has one at its top means it."""
    monkeypatch.chdir(tmp_path)
    assert typed("mine") == "scenarios/mine.yaml"
    assert typed("../x" * 100 + "\0") == f"scenarios/{'../x' * 100}\0.yaml"
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "vllm_hash.yaml").write_text("")
    assert typed("vllm_hash") == "scenarios/vllm_hash.yaml"


def test_a_projects_own_is_typed_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It replaces one of perfproof's of that name; a project whose settings are faulty hinders no page."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".perfproof" / "scenarios").mkdir(parents=True)
    for name in ("mine", "penalties"):
        (tmp_path / ".perfproof" / "scenarios" / f"{name}.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    assert [typed(name) for name in ("mine", "penalties", "swap_states")] == ["mine", "penalties", "scenarios/swap_states.yaml"]
    assert located(Path(typed("mine"))).samefile(tmp_path / ".perfproof" / "scenarios" / "mine.yaml")
    (tmp_path / "pyproject.toml").write_text("tool = 3")
    assert typed("mine") == "scenarios/mine.yaml"
