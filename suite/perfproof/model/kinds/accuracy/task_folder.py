"""A folder of lm_eval's task YAMLs: which tasks it holds, how many items they have, and a hash over all its files.

This does not need lm_eval; a YAML with lm_eval's own tags (`!function`) is read line by line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import read_mapping
from perfproof.model.kinds.accuracy.accuracy_workload import OwnTask, TaskFolder
from perfproof.model.workloads.file_folder import Listing, is_of_runs, read_folder

_LINE = re.compile(r"^(task|output_type):\s*['\"]?([^'\"#\n]+?)['\"]?\s*(?:#.*)?$", re.MULTILINE)


def read_task_folder(named: str, sha256: str | None, folder: Path | None, faults: list[str]) -> TaskFolder | None:
    """The folder that a scenario names, relative to the scenario's own folder; its faults go to `faults`.

    `folder` None reads nothing: a record keeps only name and hash.
    """
    if folder is None:
        return TaskFolder(path=named, sha256=sha256 or "", own=())
    where = "workload.task_folder"
    found = read_folder(where, named, sha256, folder, faults, LISTING)
    if found is None:
        return None
    own = tuple(_tasks(found.files))
    if not own:
        faults.append(f"{where}: {named}: no *.yaml there has a 'task:'")
    return TaskFolder(path=str(found.path), sha256=found.sha256, own=own)


def _listed(path: Path) -> Sequence[Path]:
    """Every file at any depth, but none that Python or a run of perfproof made."""
    files = list[Path]()
    for place, folders, names in os.walk(path):
        here = Path(place)
        folders[:] = [name for name in folders if name != "__pycache__" and not is_of_runs(here / name)]
        files += [here / name for name in names if (here / name).is_file()]
    return sorted(files)


LISTING = Listing(listed=_listed, most_bytes=200_000_000, most_files=100_000, remedy="keep data elsewhere, and name its path")


def _tasks(files: Sequence[Path]) -> Iterator[OwnTask]:
    for file in files:
        if file.suffix in (".yaml", ".yml"):
            task = _read_task(file)
            if isinstance(task.get("task"), str):
                yield OwnTask(name=task["task"], output_type=str(task.get("output_type", "")), items=_items(task, file.parent))


def _read_task(file: Path) -> Mapping[str, Any]:
    try:
        return read_mapping(file)
    except BadInput:
        return dict(_LINE.findall(file.read_text(encoding="utf-8", errors="replace")))


def _items(task: Mapping[str, Any], folder: Path) -> int | None:
    """The number of lines in the JSON lines file of the task's test split."""
    arguments, split = task.get("dataset_kwargs"), task.get("test_split") or task.get("validation_split")
    files = arguments.get("data_files") if isinstance(arguments, dict) else None
    named = files.get(split) if isinstance(files, dict) else None
    if not isinstance(named, str) or not named.endswith(".jsonl") or not (folder / named).is_file():
        return None
    with open(folder / named, "rb") as stream:
        return sum(1 for line in stream if line.strip())
