"""The folder of files that a command runs beside: listed and hashed, without what no trial may see.

A package `vllm` that lies among them is left out: Python would import it in place of the arm's build.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from perfproof.model.kinds.command.command_workload import CommandFiles

MOST_BYTES = 50_000_000
MOST_FILES = 5_000
LEFT_OUT = frozenset({"vllm", "__pycache__", ".git", ".venv", "venv", "node_modules", "build", "dist", ".mypy_cache", ".pytest_cache"})
"""Folders at the top that are not taken along, and caches at any depth."""
WHERE = "workload.files"


def read_files(named: str, sha256: str | None, folder: Path | None, faults: list[str]) -> CommandFiles | None:
    """The folder that a scenario names, from the scenario's own folder; what is wrong with it goes to `faults`.

    `folder` None reads nothing: a record keeps only name and hash.
    """
    if folder is None:
        return CommandFiles(path=named, sha256=sha256 or "")
    path = Path(os.path.abspath(folder / os.path.expanduser(named)))
    if not path.is_dir():
        faults.append(f"{WHERE}: {named}: there is no such folder (paths are relative to the scenario file)")
        return None
    files, size = [], 0
    for file in listed(path):
        files.append(file)
        size += file.stat().st_size
        if size > MOST_BYTES or len(files) > MOST_FILES:
            faults.append(
                f"{WHERE}: {named}: it holds more than {MOST_BYTES:,} bytes or {MOST_FILES:,} files: name a folder with the script "
                "and what it needs, and keep data elsewhere"
            )
            return None
    digest = _digest(path, files)
    if sha256 not in (None, digest):
        faults.append(f"{WHERE}: {named}: its files have the SHA-256 {digest}, the scenario expects {sha256}")
    return CommandFiles(path=str(path), sha256=digest)


def listed(path: Path) -> Iterator[Path]:
    """The files that a trial gets, in order; links that lead out of the folder, and what is no file, are left out."""
    root = path.resolve()
    for place, folders, names in os.walk(path):
        here = Path(place)
        folders[:] = sorted(name for name in folders if not _left_out(name, top=here == path))
        for name in sorted(names):
            file = here / name
            if file.is_file() and file.resolve().is_relative_to(root) and not (here == path and name == "vllm.py"):
                yield file


def _left_out(name: str, *, top: bool) -> bool:
    return name in LEFT_OUT if top else name in ("__pycache__", ".git")


def _digest(path: Path, files: list[Path]) -> str:
    total = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        total.update(f"{file.relative_to(path).as_posix()}\0{len(content)}\0".encode(errors="surrogateescape"))
        total.update(content)
    return total.hexdigest()
