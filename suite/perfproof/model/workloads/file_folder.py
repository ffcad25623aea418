"""The user's own files that trials need, a folder or paths of a commit: listed and hashed, without what no trial may see.

A package `vllm` that lies among them is left out: Python would import it in place of the arm's build. So is what perfproof itself writes
there, records and builds: a trial's copy would hold the copies of all trials before it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from perfproof.model.base.errors import CannotRun

MOST_BYTES = 50_000_000
MOST_FILES = 5_000
LEFT_OUT = frozenset({"vllm", "__pycache__", ".git", ".venv", "venv", "node_modules", "build", "dist", ".mypy_cache", ".pytest_cache"})
"""Folders at the top that are not taken along, and caches at any depth."""
OWN_FOLDER = "put the file, and what it needs, into a folder of its own, and keep data elsewhere"
"""What to do where a folder holds more than that."""
LOCK = ".lock"
"""The file by which a run holds its results folder."""
_RECORD = re.compile(rb'\{"schema":\d+,"scenario":"')
"""How a file of records begins."""
_VARIABLE = re.compile(r"\$\{?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}?")
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
        root, files = Path(self.path), list(self.files())
        copies = [folder / file.relative_to(root) for file in files]
        for file, copy in zip(files, copies, strict=True):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)
        if digest_of(folder, copies) != self.sha256:
            latest = max(files, key=lambda file: file.stat().st_mtime, default=root)
            raise CannotRun(
                f"{self.path}: its files were changed since the run began, the last of them {latest.relative_to(root)}: "
                "run it again, into another results folder"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFiles:
    """Files of a git commit: `paths` are files and folders of `repository`, laid out as they lie there. `sha256` is a hash over them, "" as
    long as git was not asked; `repository` is absolute while they are to be read."""

    repository: str
    commit: str
    paths: tuple[str, ...]
    sha256: str = ""


Files = FileFolder | CommitFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which files of a folder count, and how many may. `remedy` is what to do where there are more."""

    listed: Callable[[Path], Iterable[Path]]
    most_bytes: int
    most_files: int
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A folder that was read: its absolute path, the files that count, and the SHA-256 over them."""

    path: Path
    files: tuple[Path, ...]
    sha256: str


def read_files(
    where: str, name: str, sha256: str | None, folder: Path | None, faults: list[str], *, named: bool = True
) -> FileFolder | None:
    """The folder `name`, as seen from the scenario's own folder; what is wrong with it goes to `faults`, with the key `where`.

    `folder` None reads nothing: a record keeps only name and hash.
    """
    if folder is None:
        return FileFolder(path=name, sha256=sha256 or "", named=named)
    listing = Listing(listed=partial(listed, named=named), most_bytes=MOST_BYTES, most_files=MOST_FILES, remedy=OWN_FOLDER)
    found = read_folder(where, name, sha256, folder, faults, listing)
    return None if found is None else FileFolder(path=str(found.path), sha256=found.sha256, named=named)


def read_folder(where: str, name: str, sha256: str | None, folder: Path, faults: list[str], listing: Listing) -> Found | None:
    """The folder `name`, relative to `folder`, in which `~` and variables (`$NAME`) stand for what they are; None where it can't be read.

    What is wrong goes to `faults`, with the key `where`: there is none, it holds too much, or its files have another hash than `sha256`.
    """
    expanded = os.path.expandvars(os.path.expanduser(name))
    if unset := _VARIABLE.search(expanded):
        variable = unset["name"]
        faults.append(f"{where}: {name}: the variable {variable} is not set: export {variable}=FOLDER, or write the folder here")
        return None
    path = Path(os.path.abspath(folder / expanded))
    if not path.is_dir():
        faults.append(f"{where}: {name}: there is no such folder (paths are relative to the scenario file)")
        return None
    files, size = [], 0
    for file in listing.listed(path):
        files.append(file)
        size += file.stat().st_size
        if size > listing.most_bytes or len(files) > listing.most_files:
            most = f"{listing.most_bytes:,} bytes or {listing.most_files:,} files"
            faults.append(f"{where}: {name}: it holds more than {most}: {listing.remedy}")
            return None
    digest = digest_of(path, files)
    if sha256 not in (None, digest):
        faults.append(f"{where}: {name}: its files have the SHA-256 {digest}, the scenario expects {sha256}")
    return Found(path=path, files=tuple(files), sha256=digest)


def listed(path: Path, *, named: bool = True) -> Iterator[Path]:
    """The files that a trial gets, in order; links that lead out of the folder, and what is no file, are left out."""
    root = path.resolve()
    for place, folders, names in os.walk(path):
        here = Path(place)
        kept = (name for name in folders if not _left_out(name, top=here == path, named=named) and not is_of_runs(here / name))
        folders[:] = sorted(kept)
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


def is_of_runs(folder: Path) -> bool:
    """Whether runs of perfproof keep their records, their builds or their copies of files in this folder."""
    if folder.name == ".running" or (folder / LOCK).is_file() or (folder / ".locks").is_dir():
        return True
    return any(file.is_file() and _begins_with_a_record(file) for file in folder.glob("*.jsonl"))


def _begins_with_a_record(file: Path) -> bool:
    try:
        with file.open("rb") as lines:
            return bool(_RECORD.match(lines.read(40)))
    except OSError:
        return False


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
