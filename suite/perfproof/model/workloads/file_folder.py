"""A folder of the user's own files that trials need: listed and hashed, without what no trial may see.

A package `vllm` that lies among them is left out: Python would import it in place of the arm's build.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.model.base.errors import CannotRun

MOST_BYTES = 50_000_000
MOST_FILES = 5_000
LEFT_OUT = frozenset({"vllm", "__pycache__", ".git", ".venv", "venv", "node_modules", "build", "dist", ".mypy_cache", ".pytest_cache"})
"""Folders at the top that are not taken along, and caches at any depth."""
OF_RUNS = frozenset({"builds", "results", "reports"})
"""Folders at the top that runs write, where nobody has named the folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFolder:
    """A folder of files. `sha256` is a hash over them; `path` is absolute while they are to be read. `named` says that the user named the
    folder itself: else it is the folder of a file, from which what runs write there is left out, scenario files and pages among it."""

    path: str
    sha256: str
    named: bool = True

    def files(self) -> Iterator[Path]:
        """The files that a trial gets, in order."""
        return listed(Path(self.path), named=self.named)

    def copy_to(self, folder: Path) -> None:
        """Copies the files there. Raises `CannotRun` if they are others than when the scenario was read: arms must get the same."""
        root, copies = Path(self.path), list[Path]()
        for file in self.files():
            copies.append(folder / file.relative_to(root))
            copies[-1].parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copies[-1])
        if digest_of(folder, copies) != self.sha256:
            raise CannotRun(f"{self.path}: its files were changed since the run began: run it again, into another results folder")


def read_files(
    where: str, name: str, sha256: str | None, folder: Path | None, faults: list[str], *, named: bool = True
) -> FileFolder | None:
    """The folder `name`, as seen from the scenario's own folder; what is wrong with it goes to `faults`, with the key `where`.

    `folder` None reads nothing: a record keeps only name and hash.
    """
    if folder is None:
        return FileFolder(path=name, sha256=sha256 or "", named=named)
    path = Path(os.path.abspath(folder / os.path.expanduser(name)))
    if not path.is_dir():
        faults.append(f"{where}: {name}: there is no such folder (paths are relative to the scenario file)")
        return None
    files, size = [], 0
    for file in listed(path, named=named):
        files.append(file)
        size += file.stat().st_size
        if size > MOST_BYTES or len(files) > MOST_FILES:
            faults.append(
                f"{where}: {path}: it holds more than {MOST_BYTES:,} bytes or {MOST_FILES:,} files: put the file, and what it needs, "
                "into a folder of its own, and keep data elsewhere"
            )
            return None
    digest = digest_of(path, files)
    if sha256 not in (None, digest):
        faults.append(f"{where}: {path}: its files have the SHA-256 {digest}, the scenario expects {sha256}")
    return FileFolder(path=str(path), sha256=digest, named=named)


def listed(path: Path, *, named: bool = True) -> Iterator[Path]:
    """The files that a trial gets, in order; links that lead out of the folder, and what is no file, are left out."""
    root = path.resolve()
    for place, folders, names in os.walk(path):
        here = Path(place)
        folders[:] = sorted(name for name in folders if not _left_out(name, top=here == path, named=named))
        for name in sorted(names):
            file = here / name
            if not (file.is_file() and file.resolve().is_relative_to(root)) or (here == path and name == "vllm.py"):
                continue
            if named or here != path or not _of_runs(file):
                yield file


def _left_out(name: str, *, top: bool, named: bool) -> bool:
    if not top:
        return name in ("__pycache__", ".git")
    return name in LEFT_OUT or (not named and (name in OF_RUNS or name.startswith(".")))


def _of_runs(file: Path) -> bool:
    """Whether a file beside another is a page of a run, or a scenario: that it changes changes nothing of what is measured."""
    if file.suffix in (".yaml", ".yml"):
        return any(line.startswith(b"workload:") for line in file.read_bytes().splitlines())
    return file.suffix == ".html" or file.name.startswith(".")


def digest_of(path: Path, files: Sequence[Path]) -> str:
    """The SHA-256 of files below a folder: their names, sizes and contents."""
    total = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        total.update(f"{file.relative_to(path).as_posix()}\0{len(content)}\0".encode(errors="surrogateescape"))
        total.update(content)
    return total.hexdigest()
