"""Folders for temporary files: which one is taken, and what is said where there is none."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest

from perfproof.builds.install.install_steps import Installer
from perfproof.builds.processes import temp_files
from perfproof.cli import main
from perfproof.model.base.errors import EXIT_UNTESTABLE, CannotRun
from perfproof.run.host import machine_lock
from tests import toy


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing can be written to any folder that Python knows of."""

    def none() -> NoReturn:
        raise FileNotFoundError(2, "No usable temporary directory found in [...]")

    monkeypatch.setenv("TMPDIR", "/full")
    monkeypatch.delenv(machine_lock.FOLDER, raising=False)
    monkeypatch.setattr(tempfile, "gettempdir", none)


@pytest.mark.usefixtures("nowhere")
def test_no_room_for_temporary_files_is_reported_with_the_folders_and_the_remedy(tmp_path: Path) -> None:
    """Whoever needs one says the same: nothing is installed, locked or asked of an interpreter."""
    told = r"no room for temporary files: nothing can be written to /full, .*/tmp, /var/tmp, /usr/tmp; make room there, or .* TMPDIR"
    with pytest.raises(CannotRun, match=told):
        temp_files.folder()
    with pytest.raises(CannotRun, match=told), machine_lock.alone("perfproof run", print):
        pass
    with pytest.raises(CannotRun, match=told):
        Installer(what="bundle", builds=tmp_path, log=tmp_path / "log", say=print).run(["true"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("nowhere")
def test_a_command_without_room_for_temporary_files_ends_with_exit_code_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The remedy is of that folder, not of the one for builds; no build is half made."""
    python, scenario = toy.interpreter(tmp_path / "env"), tmp_path / "mine.yaml"
    scenario.write_text(
        "schema: 1\nquestion: Is it?\nworkload: {kind: micro, bench: swap_states}\nmetrics: {round_time: {primary: true}}\n"
        f"builds: {{default: {{kind: python, path: {python}}}}}\narms: {{a: {{baseline: true}}, b: {{}}}}\n"
    )
    assert main(["setup", str(scenario), "--builds", str(tmp_path / "builds")]) == EXIT_UNTESTABLE
    said = capsys.readouterr().err
    assert said.startswith("perfproof: there is no room for temporary files: nothing can be written to /full, ")
    assert "check that" not in said
    assert not list((tmp_path / "builds").glob("python-*.json"))


def test_a_folder_that_is_named_keeps_the_locks_where_there_is_no_room(nowhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """PERFPROOF_LOCKS needs no folder for temporary files."""
    monkeypatch.setenv(machine_lock.FOLDER, "/locks")
    assert machine_lock.folder() == Path("/locks")


def test_the_locks_of_a_machine_never_lie_in_a_working_folder_for_want_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs from two folders would not see each other; where TMPDIR names that very folder, that is what was asked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(machine_lock.FOLDER, raising=False)
    monkeypatch.setattr(tempfile, "gettempdir", os.getcwd)
    monkeypatch.setenv("TMPDIR", "/full")
    with pytest.raises(CannotRun, match=r"no folder for temporary files that other runs of this machine would find: .* /full, "):
        machine_lock.folder()
    assert temp_files.folder() == tmp_path
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert machine_lock.folder() == tmp_path / "perfproof-locks"


def test_the_disk_that_is_full_is_the_one_that_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle's folder, builds and temporary files may lie on three disks; room is to be made where there is none."""
    places = {name: tmp_path / name for name in ("builds", "out", "tmp")}
    for place in places.values():
        place.mkdir()
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(places["tmp"]))
    short: set[Path] = set()
    usage = "perfproof.builds.install.install_steps.shutil.disk_usage"
    monkeypatch.setattr(usage, lambda place: type("Usage", (), {"free": 0 if place in short else 2**40}))

    def told(words: str, full: str, into: str | None) -> Path | None:
        short.clear()
        short.update(place for name, place in places.items() if name == full)
        made = Installer(what="it", builds=places["builds"], log=tmp_path / "log", say=print, into=places.get(into or ""))
        made.run(["echo", words])
        return made.full

    assert told("[Errno 28] No space left on device", "tmp", "out") == places["tmp"]
    assert told("[Errno 28] No space left on device", "out", "out") == places["out"]
    assert told("[Errno 28] No space left on device", "", None) == places["builds"]
    assert told("all is well", "builds", None) == places["builds"]
    assert told("all is well", "tmp", None) is None
