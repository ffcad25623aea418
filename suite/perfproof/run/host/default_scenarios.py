"""The main scenarios of this machine: they run when the user names none.

`scenarios/main.toml` has one list for machines with a GPU that our processes may use and one for machines without. It lies beside the
scenarios and is not one itself, so a glob over `*.yaml` does not match it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import shown
from perfproof.model.installed.project_files import project_here
from perfproof.model.installed.scenario_folders import FOLDERS
from perfproof.run.host import gpus

NAME = "main.toml"
DEVICES = {"cpu": "the CPU", "cuda": "CUDA"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MainScenarios:
    """The files, in the list's order; `note` says in one line which list that is and why."""

    files: tuple[Path, ...]
    note: str


def pick(folders: Sequence[Path] | None = None) -> MainScenarios:
    """The main scenarios of this machine: of the project here, of the folder `scenarios` here, else perfproof's own.

    Raises `BadInput` for a list, or a file in it, that is missing or can't be read.
    """
    folders = _folders() if folders is None else folders
    path = next((folder / NAME for folder in folders if (folder / NAME).is_file()), None)
    if path is None:
        raise BadInput(f"no scenario is named, and there is no {folders[0] / NAME} here: name scenario files, or install perfproof again")
    names = [gpu["name"] for gpu in gpus.describe()]
    device = "cuda" if names else "cpu"
    files = _files(path, device)
    return MainScenarios(
        files=files, note=f"{_seen(names)}: the main scenarios for {DEVICES[device]} ({path}); name scenarios to run others"
    )


def _folders() -> Sequence[Path]:
    project = project_here()
    return (project.scenarios, *FOLDERS) if project else FOLDERS


def _seen(names: Sequence[str]) -> str:
    """The GPUs in words: how many, and which."""
    if names:
        return f"{len(names)} GPU{'s' if len(names) > 1 else ''} ({', '.join(dict.fromkeys(filter(None, names))) or 'of unknown name'})"
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "no NVIDIA GPU" if chosen is None else f"no NVIDIA GPU that CUDA_VISIBLE_DEVICES={chosen!r} lets us use"


def _files(path: Path, device: str) -> tuple[Path, ...]:
    """The files of a device's list; raises `BadInput` with all its faults at once."""
    lists = _read(path)
    faults = [f"{path}: {key}: there is no such list; expected {' and '.join(DEVICES)}" for key in lists if key not in DEVICES]
    names = lists.get(device)
    if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
        got = "nothing" if names is None else shown(names)
        raise BadInput(*faults, f'{path}: {device}: expected a list of scenario files, such as ["penalties.yaml"], got {got}')
    files = tuple(path.parent / name for name in names)
    faults += [f"{path}: {device}: {name}: there is no {file}" for name, file in zip(names, files, strict=True) if not file.is_file()]
    if faults:
        raise BadInput(*faults)
    return files


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: can't be read as TOML: {error}") from error
