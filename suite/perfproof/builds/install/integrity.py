"""Checks that a build is still complete: for `doctor`, before a build is used, and when a trial fails.

Every package in an environment lists its files with their sizes and hashes (`RECORD`). The last file written, `complete.json`, marks a
finished build; without it a build does not count. uv links packages from a download cache that all builds share, so an edit of one build's
file in place would reach the others. Therefore the hashes of vLLM's own files are checked when a build is made.
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
from perfproof.builds.processes import containers
from perfproof.builds.processes.containers import Image

COMPLETE = "complete.json"
NOT_BUILDS = ("side-", "tools-", "gguf-", "lm-eval-", "cache", "models", "second")
"""Prefixes of names in the folder of builds that are no builds."""
MOVED = "moved or copied here from where it was made"
Row = tuple[str, str, int | None]


def damage(packages: Path) -> str:
    """The first file of an environment that is missing or whose size differs from its package's list; "" if none (a fifth of a second)."""
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
    """The first Python file of an installed distribution whose hash differs from its wheel's list; "" if none."""
    for info in packages.glob(f"{distribution.replace('-', '_')}-*.dist-info"):
        for name, digest, _ in _rows(info / "RECORD"):
            if name.endswith(".py") and digest.startswith("sha256=") and _digest(packages / name) != digest:
                return name
    return ""


def _rows(record: Path) -> Iterator[Row]:
    """Name, hash and size of every file that a package lists."""
    try:
        with open(record, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if len(row) >= 3]
    except OSError:
        return
    for name, digest, size in (row[:3] for row in rows):
        if not name.endswith(".pyc"):
            yield name, digest, int(size) if size.isdigit() and not _is_script(name) else None


def _is_script(name: str) -> bool:
    """Whether a file is a package's script: it begins with its interpreter's path, so its size depends on the folder."""
    return name.startswith("../") and "/bin/" in name


def _digest(file: Path) -> str:
    digest = hashlib.sha256(file.read_bytes()).digest()
    return f"sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def lost(build: ReadyBuild) -> str:
    """A sentence about the missing part of a build that was ready; "" if nothing is missing."""
    gone = ""
    if not build.interpreter.exists():
        gone = "its interpreter is gone"
    elif not (build.fingerprint.package / "__init__.py").is_file():
        gone = "its vLLM is gone"
    elif build.container and not isinstance(containers.image(build.container.runtime, build.container.digest), Image):
        gone = "its image is gone"
    elif not build.side.is_dir():
        gone = "the folder with patches and benchmarks beside it is gone"
    elif build.ours and not (build.folder / COMPLETE).is_file():
        gone = "it is not complete"
    elif build.ours:
        gone = damage(build.fingerprint.package.parent)
    if not gone:
        return ""
    again = "the next call makes it again and continues from here" if build.ours else "restore it before the next call"
    return f"the build {build.label} was deleted or changed while the scenario ran ({gone}); {again}"


CHANGED = "was changed while its trials ran"
"""Part of a trial's reason if its build was changed."""
_AS_READY: dict[Path, int] = {}
"""A stamp of vLLM's Python files when a build became ready, by its package; of this process only."""


def remember(build: ReadyBuild) -> None:
    """Stores the state of a build that has become ready, for `changed`."""
    _AS_READY[build.fingerprint.package] = _stamp(build.fingerprint.package)


def changed(build: ReadyBuild) -> str:
    """A sentence if a build has changed since it became ready; "" if not, or if its state was not stored (some 50 ms)."""
    package = build.fingerprint.package
    if _AS_READY.get(package, now := _stamp(package)) == now:
        return ""
    return f"the build {build.label} {CHANGED}: Python files of its vLLM have changed since the run began"


def _stamp(package: Path) -> int:
    """A number for the Python files, from their names, sizes and times."""
    stats = ((str(file), file.stat()) for file in sorted(package.rglob("*.py")) if file.exists())
    return hash(tuple((name, at.st_size, at.st_mtime_ns) for name, at in stats))


def made_in(folder: Path) -> Path | None:
    """The folder that a build was made in, or last relocated to; None if it is not recorded.

    For builds of older versions of the suite it follows from the path of vLLM.
    """
    try:
        content = json.loads((folder / COMPLETE).read_text())
        if "folder" in content:
            return Path(content["folder"])
        package = Path(content["fingerprint"]["package"])
    except (OSError, KeyError, TypeError, ValueError):
        return None
    return next((above for above in package.parents if above.name == folder.name), None)


# --- all builds ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A build below the folder of builds: `bytes` it takes, `own` of them not shared with the cache or other builds.

    `fault` says why it is not complete, "" if it is; `words` describe its content.
    """

    name: str
    bytes: int
    own: int
    fault: str
    words: str


def survey(builds: Path) -> list[Kept]:
    """Every environment below `builds`, complete or not, by name."""
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
        fault = "its base build is gone"
    if not fault and made_in(folder) not in (None, folder.resolve()):
        fault = MOVED
    return Kept(name=folder.name, bytes=whole, own=own, fault=fault, words=words)


def _sizes(folder: Path) -> tuple[int, int]:
    """Bytes of all files below a folder, and of those without another hard link."""
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
