"""What a project adds: found from below it, refused where it is faulty, and never outside of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.model.base.errors import BadInput
from perfproof.model.installed.project_files import Project, project_here, project_in
from perfproof.model.installed.scenario_folders import OWN, located, scenario_files


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a scenario of its own; the test runs in one of its folders."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".perfproof" / "scenarios").mkdir(parents=True)
    (tmp_path / ".perfproof" / "scenarios" / "mine.yaml").write_text("")
    (tmp_path / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "down")
    return tmp_path


def test_a_project_adds_to_the_scenarios_from_every_folder_of_it(project: Path) -> None:
    """Its own stand beside perfproof's, and replace those of the same name."""
    (project / ".perfproof" / "scenarios" / "penalties.yaml").write_text("")
    found = {file.stem: file for file in scenario_files()}
    assert found["mine"].resolve() == project / ".perfproof" / "scenarios" / "mine.yaml"
    assert found["penalties"].resolve() == project / ".perfproof" / "scenarios" / "penalties.yaml"
    assert found["thinking_scan"] == OWN / "thinking_scan.yaml"


def test_a_project_ends_at_the_top_of_its_repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies above is somebody else's; without a repository only the folder itself counts."""
    inner = project / "deep"
    (inner / ".git").mkdir()
    assert project_here() is None
    monkeypatch.chdir(project)
    assert project_here() is not None


def test_settings_name_other_places(project: Path) -> None:
    """Each key alone; what is not named stays in `.perfproof`."""
    (project / "pyproject.toml").write_text('[tool.perfproof]\npolicy = "perf/policy.yaml"\n')
    found = project_in(project)
    assert found == Project(
        root=project, scenarios=project / ".perfproof" / "scenarios", policy=project / "perf" / "policy.yaml", named=True
    )
    assert found.places == (".perfproof", "pyproject.toml", ".perfproof/scenarios", "perf/policy.yaml")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[tool", "can't be read as TOML"),
        ("tool = 3", "can't be read as TOML"),
        ("[tool]\nperfproof = 3", "tool.perfproof: expected a table, got 3"),
        ('[tool.perfproof]\nbench = "x"', "tool.perfproof.bench: there is no such key; expected scenarios or policy"),
        ("[tool.perfproof]\nscenarios = 3", "tool.perfproof.scenarios: expected a path inside the project"),
        ('[tool.perfproof]\npolicy = ""', "tool.perfproof.policy: expected a path inside the project"),
    ],
)
def test_faulty_settings_are_refused(project: Path, text: str, fault: str) -> None:
    """File, key and what was expected."""
    (project / "pyproject.toml").write_text(text)
    with pytest.raises(BadInput, match=r"pyproject\.toml: ") as caught:
        project_in(project)
    assert fault in str(caught.value)


@given(parts=st.lists(st.sampled_from(["..", ".", "", "a", "b.yaml"]), max_size=5), root=st.sampled_from(["", "/"]))
def test_no_settings_lead_out_of_the_project(tmp_path_factory: pytest.TempPathFactory, parts: list[str], root: str) -> None:
    """A path is inside the project, or refused."""
    folder = tmp_path_factory.getbasetemp()
    (folder / "pyproject.toml").write_text(f"[tool.perfproof]\npolicy = '{root}{'/'.join(parts)}'\n")
    try:
        found = project_in(folder)
    except BadInput:
        return
    assert found is not None
    assert found.policy.resolve().is_relative_to(folder.resolve())


def test_a_scenario_is_named_by_its_file_or_its_name(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that is here is itself; a name is the project's or perfproof's; a wrong name is refused with the nearest."""
    monkeypatch.chdir(project)
    (project / "scenarios").mkdir()
    (project / "scenarios" / "swap_states.yaml").write_text("")
    assert located(Path("scenarios/swap_states.yaml")) == Path("scenarios/swap_states.yaml")
    assert located(Path("mine")) == Path(".perfproof/scenarios/mine.yaml")
    assert located(Path("scenarios/penalties.yaml")) == OWN / "penalties.yaml"
    assert located(Path("scenarios/diffs/thinking_scan_lost.diff")) == OWN / "diffs" / "thinking_scan_lost.diff"
    for stays in ("my.diff", "scenarios/../../x.yaml", "scenarios/nosuch.yaml", "/scenarios/penalties.yaml", "deep/penalties.yaml"):
        assert located(Path(stays)) == Path(stays)
    with pytest.raises(BadInput, match="min: there is no such file, and no scenario of that name; did you mean mine"):
        located(Path("min"))
