"""Whether what was made is still there, whole: told by `doctor`, asked before a build is used, and when a trial fails.

An environment carries the means to tell: every package in it lists its files with their sizes and hashes (`RECORD`).
What was made is marked by its last file, `complete.json`; without it a build counts for nothing. uv links packages from a download
cache that all builds share, so an edit of one build's file in place would reach the others: that is why the
hashes of vLLM's own files are looked at when a build is made.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild

COMPLETE = "complete.json"
NOT_BUILDS = ("side-", "tools-", "gguf-", "lm-eval-", "cache", "models", "second")
"""Beginnings of names below the folder of builds that are no builds."""
MOVED = "moved or copied here from where it was made"
Row = tuple[str, str, int | None]


def damage(packages: Path) -> str:
    """The first file of an environment that is missing or has another size than its package says; "" if none (a fifth of a second)."""
    if not packages.is_dir():
        return f"{packages.name} is missing"
    for info in sorted(packages.glob("*.dist-info")):
        for name, _, size in _rows(info / "RECORD"):
            try:
                there = os.stat(packages / name).st_size
            except OSError:
                return f"{name} of {info.stem} is missing"
            if size is not None and there != size:
                return f"{name} of {info.stem} has {there} bytes instead of {size}"
    return ""


def edited(packages: Path, distribution: str) -> str:
    """The first Python file of an installed distribution that does not have the hash its wheel says; "" if none."""
    for info in packages.glob(f"{distribution.replace('-', '_')}-*.dist-info"):
        for name, digest, _ in _rows(info / "RECORD"):
            if name.endswith(".py") and digest.startswith("sha256=") and _digest(packages / name) != digest:
                return name
    return ""


def _rows(record: Path) -> Iterator[Row]:
    """Name, hash and size of every file that a package lists; nothing where it lists none."""
    try:
        with open(record, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if len(row) >= 3]
    except OSError:
        return
    for name, digest, size in (row[:3] for row in rows):
        if not name.endswith(".pyc"):
            yield name, digest, int(size) if size.isdigit() and not _is_script(name) else None


def _is_script(name: str) -> bool:
    """Whether a file is a package's script: it begins with a path of its interpreter, so its size is the place's."""
    return name.startswith("../") and "/bin/" in name


def _digest(file: Path) -> str:
    said = hashlib.sha256(file.read_bytes()).digest()
    return f"sha256={base64.urlsafe_b64encode(said).rstrip(b'=').decode()}"


def lost(build: ReadyBuild) -> str:
    """What is gone of a build that was ready, in a sentence; "" if it is all there."""
    gone = ""
    if not build.interpreter.exists():
        gone = "its interpreter is gone"
    elif not (build.fingerprint.package / "__init__.py").is_file():
        gone = "its vLLM is gone"
    elif not build.side.is_dir():
        gone = "the folder with patches and benchmarks beside it is gone"
    elif build.ours and not (build.folder / COMPLETE).is_file():
        gone = "it is not complete"
    elif build.ours:
        gone = damage(build.fingerprint.package.parent)
    if not gone:
        return ""
    again = "the next call makes it again and goes on from here" if build.ours else "it has to be there again for the next call"
    return f"the build {build.label} was deleted or changed while the scenario ran ({gone}); {again}"


CHANGED = "was changed while its trials ran"
"""What the reason of a trial says of whose build that is true."""
_AS_READY: dict[Path, int] = {}
"""What the Python files of vLLM were like when a build was got ready, by its package; of this process."""


def remember(build: ReadyBuild) -> None:
    """Keeps in mind what a build is like now that it is ready, for `changed`."""
    _AS_READY[build.fingerprint.package] = _stamp(build.fingerprint.package)


def changed(build: ReadyBuild) -> str:
    """Why a build is no longer the one that was got ready, in a sentence; "" if it is, or nobody remembers (some 50 ms)."""
    package = build.fingerprint.package
    if _AS_READY.get(package, now := _stamp(package)) == now:
        return ""
    return f"the build {build.label} {CHANGED}: Python files of its vLLM are not what they were when the run began"


def _stamp(package: Path) -> int:
    """Another number for other Python files, by their names, sizes and times."""
    stats = ((str(file), file.stat()) for file in sorted(package.rglob("*.py")) if file.exists())
    return hash(tuple((name, at.st_size, at.st_mtime_ns) for name, at in stats))


def made_in(folder: Path) -> Path | None:
    """The folder that a build was made in, or set right in last; None where it does not say.

    What an older version of the suite made says it by where its vLLM lay.
    """
    try:
        said = json.loads((folder / COMPLETE).read_text())
        if "folder" in said:
            return Path(said["folder"])
        package = Path(said["fingerprint"]["package"])
    except (OSError, KeyError, TypeError, ValueError):
        return None
    return next((above for above in package.parents if above.name == folder.name), None)


# --- all that is there ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A build below the folder of builds: `bytes` it takes, `own` of them not shared with the cache or other builds.

    `fault` says why it is not whole, "" if it is; `words` are what it said of itself.
    """

    name: str
    bytes: int
    own: int
    fault: str
    words: str


def survey(builds: Path) -> list[Kept]:
    """Every environment that was made below `builds`, whole or not, by name."""
    if not builds.is_dir():
        return []
    folders = sorted(path for path in builds.iterdir() if path.is_dir() and not path.is_symlink())
    return [_kept(path) for path in folders if not path.name.startswith((".", *NOT_BUILDS))]


def _kept(folder: Path) -> Kept:
    whole, own = _sizes(folder)
    fault, words = "", ""
    try:
        print_ = json.loads((folder / COMPLETE).read_text())["fingerprint"]
        operators = "compiled operators load" if print_["compiled_operators"] else "compiled operators do not load"
        words = f"vLLM {print_['vllm_version']}, PyTorch {print_['torch_version']}, {operators}"
    except FileNotFoundError:
        fault = "half made"
    except (OSError, KeyError, TypeError, ValueError):
        fault = f"{COMPLETE} can't be read"
    packages = next(folder.glob("lib/python3*/site-packages"), None)
    if not fault and packages is not None:
        fault = damage(packages)
    if not fault and not (folder / "bin" / "python").exists() and (folder / "bin").exists():
        fault = "its interpreter is gone"
    if not fault and (folder / "site" / "vllm").is_dir() and not (folder / "site" / "vllm" / "__init__.py").is_file():
        fault = "the build that it lies on is gone"
    if not fault and made_in(folder) not in (None, folder.resolve()):
        fault = MOVED
    return Kept(name=folder.name, bytes=whole, own=own, fault=fault, words=words)


def _sizes(folder: Path) -> tuple[int, int]:
    """Bytes of all files below a folder, and of those that have no other name elsewhere."""
    whole = own = 0
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                seen = os.lstat(os.path.join(root, name))
            except OSError:
                continue
            whole += seen.st_size
            own += seen.st_size if seen.st_nlink == 1 else 0
    return whole, own
